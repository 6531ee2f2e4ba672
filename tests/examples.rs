//! The examples do what they say: each runs by itself, ends by itself and tells its story on standard output.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;
use std::time::Duration;

use bezoar::broker::{CommittedOffset, ConnectionSettings, ErrorCode, Plane};
use bezoar::embedded::{Api, Broker, Fault};
use bezoar::record::TopicPartition;
use tokio::process::Command;

/// Generous: an example takes a second or two on an idle machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The executable of an example. `cargo test` builds examples; where only this test was asked for they are built here.
fn executable(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let test = std::env::current_exe().unwrap();
    // target/<profile>/deps/<this test>
    let profile = test.parent().and_then(Path::parent).unwrap();
    let path = profile.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    if !path.exists() {
        BUILT.get_or_init(|| {
            let mut build = std::process::Command::new(env!("CARGO"));
            build.args(["build", "--examples", "--target-dir"]).arg(profile.parent().unwrap());
            if profile.ends_with("release") {
                build.arg("--release");
            }
            assert!(build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
        });
    }
    assert!(path.exists(), "no {}: run cargo build --examples", path.display());
    path
}

/// Runs an example to its end, on `bootstrap` or on an embedded broker of its own.
async fn run(name: &str, bootstrap: Option<String>, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(executable(name));
    command.env_remove("KAFKA_BOOTSTRAP").env_remove("ORDERS_TIMEOUT").envs(variables.iter().copied());
    if let Some(bootstrap) = bootstrap {
        command.env("KAFKA_BOOTSTRAP", bootstrap);
    }
    let output = command.kill_on_drop(true).output();
    tokio::time::timeout(LIMIT, output).await.expect("the example ends by itself").unwrap()
}

/// The standard output of an example that succeeds.
async fn story(name: &str, bootstrap: Option<String>) -> String {
    let output = run(name, bootstrap, &[]).await;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}\n{errors}", output.status);
    assert_eq!(errors, "", "{name} says nothing on standard error when all is well");
    String::from_utf8(output.stdout).unwrap()
}

/// What an example says on standard error when it fails.
async fn complaint(name: &str, bootstrap: String) -> String {
    let output = run(name, Some(bootstrap), &[]).await;
    assert!(!output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "standard output is for the story");
    String::from_utf8(output.stderr).unwrap()
}

/// Asserts that the lines are there, in this order, whatever is between them.
fn assert_lines(story: &str, expected: &[&str]) {
    let mut lines = story.lines();
    for line in expected {
        assert!(lines.any(|told| told.trim_start() == *line), "{line:?} is missing or out of order in:\n{story}");
    }
}

#[tokio::test]
async fn orders_prints_exactly_what_is_expected_every_time() {
    for _ in 0..5 {
        assert_eq!(story("orders", None).await, include_str!("../examples/orders.expected"));
    }
}

#[tokio::test]
async fn orders_leaves_nothing_behind() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("other", 1).unwrap();
    for _ in 0..2 {
        story("orders", Some(broker.bootstrap())).await;
        assert_eq!(broker.topics(), ["other"]);
        assert_eq!(broker.groups(), [] as [&str; 0]);
    }
}

#[tokio::test]
async fn orders_touches_nothing_where_its_topics_exist() {
    for topic in ["orders", "orders.dlq"] {
        let broker = Broker::start().await.unwrap();
        let id = broker.create_topic(topic, 2).unwrap();
        let complaint = complaint("orders", broker.bootstrap()).await;
        assert!(complaint.contains(&format!("topic {topic:?} exists already")), "{complaint}");
        assert_eq!(broker.topics(), [topic]);
        assert_eq!((broker.topic_id(topic), broker.end_offset(topic, 0)), (Some(id), Some(0)));
        assert_eq!(broker.groups(), [] as [&str; 0]);
    }
}

#[tokio::test]
async fn orders_touches_nothing_where_its_group_exists() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("other", 1).unwrap();
    let ports = Plane::Native.connect(ConnectionSettings::new([broker.bootstrap()])).await.unwrap();
    let partition = TopicPartition::new("other", 0);
    let committed = CommittedOffset { partition, offset: 0, metadata: "somebody's".into(), leader_epoch: None };
    ports.offsets.commit("fulfilment".into(), vec![committed]).await.unwrap().remove(0).unwrap();

    let complaint = complaint("orders", broker.bootstrap()).await;
    assert!(complaint.contains("group \"fulfilment\" exists already"), "{complaint}");
    assert_eq!(broker.topics(), ["other"]);
    assert_eq!(broker.committed_metadata("fulfilment", "other", 0).as_deref(), Some("somebody's"));
}

#[tokio::test]
async fn orders_gives_up_in_time_and_cleans_up() {
    let not_leader = ErrorCode(6);
    for (api, topic) in [(Api::Fetch, "orders"), (Api::Produce, "orders.dlq")] {
        let broker = Broker::start().await.unwrap();
        broker.inject(Fault::on(api).topic(topic).forever().error(not_leader));
        let output = run("orders", Some(broker.bootstrap()), &[("ORDERS_TIMEOUT", "3")]).await;
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && complaint.contains("not settled within 3s"), "{api:?}: {complaint}");
        assert_eq!(broker.topics(), [] as [&str; 0]);
        assert_eq!(broker.groups(), [] as [&str; 0]);
    }
}

#[tokio::test]
async fn panicking_handler_quarantines_the_record_and_goes_on() {
    let story = story("panicking_handler", None).await;
    assert_lines(
        &story,
        &[
            "partition 0: order 1 billed, 1 x 1200 cents (no. 1 of its handler)",
            "partition 0: order 2 billed, 2 x 600 cents (no. 2 of its handler)",
            "partition 0: order 4 billed, 4 x 300 cents (no. 1 of its handler)",
            "handler lost at orders/0/2: panic",
            "somebody should be woken up because of orders/0/2",
            r#"in orders.dlq.poison: {"id": 3, "cents": 1200, "instalments": 0}"#,
            "from orders/0/2 (panic)",
        ],
    );
    assert_lines(&story, &["partition 1: order 7 billed, 8 x 150 cents (no. 3 of its handler)"]);
    let message = story.lines().last().unwrap();
    assert!(message.contains("panicking_handler.rs:") && message.ends_with("attempt to divide by zero"), "{message}");
    assert_eq!(story.matches("in orders.dlq.poison").count(), 1);
}

#[tokio::test]
async fn actor_handler_keeps_its_state_and_retries() {
    assert_lines(
        &story("actor_handler", None).await,
        &[
            "warehouse opened with 10 pieces",
            "order 1: 3 pieces taken on attempt 1, 7 left",
            "order 2: 4 pieces taken on attempt 1, 3 left",
            "order 3: 8 pieces taken on attempt 2, 5 left",
            "order 4: 1 pieces taken on attempt 1, 4 left",
            "orders/0/2 failed on attempt 1 of 6 and waited 50ms: order 3 wants 8 pieces, 3 are left",
        ],
    );
}

#[tokio::test]
async fn categories_leaves_dead_letters_in_five_topics() {
    let broker = Broker::start().await.unwrap();
    let story = story("categories", Some(broker.bootstrap())).await;
    assert_lines(&story, &["order 1 shipped to the town (attempt 1)", "order 3 shipped to the coast (attempt 3)"]);
    let letters = [
        ("validation", 1, "orders/0/1 validation: in orders.dlq.validation after 1 attempt(s): order 2 is empty"),
        ("transient", 3, "orders/0/3 transient: in orders.dlq.transient after 4 attempt(s): the carrier is busy"),
        (
            "dependency",
            4,
            "orders/0/4 dependency: in orders.dlq.dependency after 3 attempt(s): \
             dependency inventory failed: the inventory does not answer",
        ),
        ("poison", 5, "orders/0/5 poison: in orders.dlq.poison after 1 attempt(s): panicked at "),
        ("unknown", 6, "orders/0/6 unknown: in orders.dlq.unknown after 2 attempt(s): the label printer blinks red"),
    ];
    for (category, offset, line) in letters {
        assert!(story.lines().any(|told| told.starts_with(line)), "{line:?} is missing in:\n{story}");
        let source = broker.records("orders", 0).unwrap().swap_remove(offset);
        let letters = broker.records(&format!("orders.dlq.{category}"), 0).unwrap();
        assert_eq!(letters.len(), 1, "{category}");
        assert_eq!(letters[0].value, source.value, "{category}");
    }

    // And what it left is there for people.
    let bezoar = |words: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bezoar"));
        let output =
            command.args(words.split(' ')).env("BEZOAR_BOOTSTRAP", broker.bootstrap()).kill_on_drop(true).output();
        async move {
            let output = tokio::time::timeout(LIMIT, output).await.expect("the command ends by itself").unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        }
    };
    let groups = bezoar("dlq groups --source orders --output json").await;
    assert_eq!(groups.lines().count(), 5, "{groups}");
    let shown = bezoar("dlq show orders.dlq.poison/0/0").await;
    assert!(shown.contains("orders/0/5") && shown.contains("panicked at "), "{shown}");
    let report = bezoar("dlq replay --source orders --category transient --yes --output json").await;
    assert!(report.contains("\"success\":1"), "{report}");
    assert_eq!(
        broker.records("orders", 0).unwrap().last().unwrap().value,
        broker.records("orders", 0).unwrap()[3].value
    );
}

#[tokio::test]
async fn two_instances_share_the_partitions_and_lose_nothing() {
    let story = story("two_instances", None).await;
    let all = "has partitions [0, 1, 2, 3, 4, 5]";
    assert_lines(
        &story,
        &[
            "A starts",
            &format!("A {all}"),
            "B joins",
            "B is killed: its partitions wait until its session is over",
            &format!("A {all}"),
            "C joins",
            "A has committed all that it handled: true",
            &format!("C {all}"),
            "E restarts: its partitions wait for it",
            "partitions that moved: 0",
        ],
    );
    assert!(story.lines().any(|line| line.starts_with("each of the ") && line.ends_with("was handled")), "{story}");
}

#[tokio::test]
async fn config_file_runs_by_its_settings() {
    assert_lines(
        &story("config_file", None).await,
        &[
            "group fulfilment, commits every 500ms",
            "order 1 reserved (attempt 1)",
            "order 2 reserved (attempt 3)",
            "order 4 reserved (attempt 1)",
            "all orders settled",
            "orders/0 committed up to offset 4",
            "orders/0/1: attempt 1 of 3 failed, next after 20ms",
            "orders/0/1: attempt 2 of 3 failed, next after 40ms",
            r#"orders/0/2: in orders.dlq: id: invalid type: string "three", expected u32 at line 1 column 14"#,
            "orders/0/2: somebody should look",
        ],
    );
}

#[tokio::test]
async fn config_file_says_what_is_wrong_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let required = "group = \"fulfilment\"\nbootstrap = [\"127.0.0.1:9092\"]\n";
    for (wrong, expected) in [
        ("[policies.transient]\nretires = 8", "unknown field `retires`"),
        ("drain_timeout = \"soon\"", "\"soon\" is not a duration"),
        ("lanes = 0", "lanes = 0"),
        (
            "[policies.transient]\nbackoff = { cap = \"10ms\" }",
            "policies.transient.backoff.cap = \"10ms\" is below base",
        ),
    ] {
        let file = directory.path().join("settings.toml");
        std::fs::write(&file, format!("{required}{wrong}")).unwrap();
        let output = Command::new(executable("config_file")).arg(&file).kill_on_drop(true).output();
        let output = tokio::time::timeout(LIMIT, output).await.unwrap().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && complaint.contains(expected), "{wrong}: {complaint}");
    }
}

#[tokio::test]
async fn order_items_names_the_field() {
    assert_lines(
        &story("order_items", None).await,
        &[
            "order A-1 picked: 1 x teapot",
            "order A-3 picked: 6 x cup, 6 x saucer",
            r#"in orders.dlq.validation: {"order_id": "A-2", "items": "two cups"}"#,
            "its header shop: tea & more",
            "from orders/0/1 (serde_json::Error)",
            r#"items: invalid type: string "two cups", expected a sequence at line 1 column 39"#,
        ],
    );
}
