//! The embedded broker against Apache Kafka's own command-line tools. `KAFKA_LIBS` names the folder with Kafka's
//! jars; without it there is nothing to run.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use bezoar::embedded::{BatchWriter, Broker};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

const TOPICS: &str = "org.apache.kafka.tools.TopicCommand";
const PRODUCER: &str = "org.apache.kafka.tools.ConsoleProducer";
const CONSUMER: &str = "org.apache.kafka.tools.consumer.ConsoleConsumer";
const CONFIGS: &str = "kafka.admin.ConfigCommand";
const OFFSETS: &str = "org.apache.kafka.tools.GetOffsetShell";
const CLUSTER: &str = "org.apache.kafka.tools.ClusterTool";
const GROUPS: &str = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";

struct Tools {
    libs: String,
    bootstrap: String,
}

impl Tools {
    /// Runs a tool to its end and returns what it printed to stdout.
    async fn run(&self, class: &str, arguments: &[&str], input: &str) -> String {
        let mut command = Command::new("java");
        command.args(["-cp", &format!("{}/*", self.libs), class, "--bootstrap-server", &self.bootstrap]);
        self.finish(command.args(arguments), &format!("{class} {arguments:?}"), input).await
    }

    /// Runs a program of one source file to its end, given the address of the broker, and returns what it printed.
    async fn run_source(&self, file: &str) -> String {
        let mut command = Command::new("java");
        command.args(["-cp", &format!("{}/*", self.libs), file, &self.bootstrap]);
        self.finish(&mut command, file, "").await
    }

    async fn finish(&self, command: &mut Command, what: &str, input: &str) -> String {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        // A JVM on a loaded machine takes its time.
        let ended = tokio::time::timeout(Duration::from_secs(180), child.wait_with_output()).await;
        let output = ended.unwrap_or_else(|_| panic!("{what} did not end")).unwrap();
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{what}:\n{stdout}\n{stderr}");
        stdout.into_owned()
    }
}

/// A broker and Kafka's tools, where there are any.
async fn setup() -> Option<(Broker, Tools)> {
    let Ok(libs) = std::env::var("KAFKA_LIBS") else {
        println!("skipped: KAFKA_LIBS is not set");
        return None;
    };
    let broker = Broker::start().await.unwrap();
    let tools = Tools { libs, bootstrap: broker.bootstrap() };
    Some((broker, tools))
}

#[tokio::test]
async fn kafkas_own_tools_create_produce_consume_and_describe() {
    let Some((broker, tools)) = setup().await else { return };

    let create = ["--create", "--topic", "orders", "--partitions", "2", "--config", "retention.ms=-1"];
    tools.run(TOPICS, &create, "").await;
    let described = tools.run(TOPICS, &["--describe", "--topic", "orders"], "").await;
    assert!(described.contains("PartitionCount: 2") && described.contains("retention.ms=-1"), "{described}");

    // The console producer is idempotent by default.
    let properties = ["--topic", "orders", "--property", "parse.key=true", "--property", "key.separator=:"];
    tools.run(PRODUCER, &properties, "a:1\nb:2\nc:3\nd:4\n").await;
    let mut values = BTreeSet::new();
    let mut total = 0;
    for partition in [0, 1] {
        let records = broker.records("orders", partition).unwrap();
        if records.is_empty() {
            continue;
        }
        assert!(records.iter().all(|record| record.producer_id >= 0));
        let (partition, count) = (partition.to_string(), records.len().to_string());
        let from_start =
            ["--topic", "orders", "--partition", &partition, "--offset", "earliest", "--max-messages", &count];
        let printed = tools.run(CONSUMER, &from_start, "").await;
        assert_eq!(printed.lines().count(), records.len(), "{printed}");
        values.extend(printed.lines().map(str::to_owned));
        total += records.len();
    }
    assert_eq!((total, values), (4, BTreeSet::from(["1", "2", "3", "4"].map(str::to_owned))));

    let reset = ["--group", "fulfilment", "--reset-offsets", "--to-earliest", "--topic", "orders", "--execute"];
    tools.run(GROUPS, &reset, "").await;
    assert_eq!(broker.committed("fulfilment", "orders", 0), Some(0));
    assert_eq!(tools.run(GROUPS, &["--list"], "").await.trim(), "fulfilment");
    let described = tools.run(GROUPS, &["--describe", "--group", "fulfilment"], "").await;
    let lags = described.lines().filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        (fields.first() == Some(&"fulfilment")).then(|| fields[5].parse::<i64>().unwrap())
    });
    assert_eq!(lags.sum::<i64>(), 4, "{described}");
    tools.run(GROUPS, &["--delete", "--group", "fulfilment"], "").await;
    tools.run(TOPICS, &["--delete", "--topic", "orders"], "").await;
    assert!(broker.topics().is_empty() && broker.groups().is_empty());
}

#[tokio::test]
async fn kafkas_own_tools_grow_configure_and_measure_topics() {
    let Some((broker, tools)) = setup().await else { return };
    broker.create_topic("orders", 1).unwrap();
    let cluster = Command::new("java")
        .args(["-cp", &format!("{}/*", tools.libs), CLUSTER, "cluster-id", "--bootstrap-server", &tools.bootstrap])
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    let cluster = String::from_utf8_lossy(&cluster.stdout).into_owned();
    assert!(cluster.contains("Cluster ID: "), "{cluster}");

    tools.run(TOPICS, &["--alter", "--topic", "orders", "--partitions", "3"], "").await;
    assert_eq!((broker.end_offset("orders", 2), broker.end_offset("orders", 3)), (Some(0), None));

    let entity = ["--entity-type", "topics", "--entity-name", "orders"];
    let alter = [&entity[..], &["--alter", "--add-config", "retention.ms=1234"]].concat();
    tools.run(CONFIGS, &alter, "").await;
    let described = tools.run(CONFIGS, &[&entity[..], &["--describe"]].concat(), "").await;
    assert!(described.contains("retention.ms=1234"), "{described}");
    tools.run(CONFIGS, &[&entity[..], &["--alter", "--delete-config", "retention.ms"]].concat(), "").await;
    let described = tools.run(CONFIGS, &[&entity[..], &["--describe"]].concat(), "").await;
    assert!(!described.contains("retention.ms"), "{described}");

    for millis in [100, 300, 200] {
        let batch = BatchWriter::new().timestamp(millis).record(Some(b"k"), Some(b"v"), vec![]).build();
        broker.append_raw("orders", 0, batch).unwrap();
    }
    broker.delete_records_before("orders", 0, 1).unwrap();
    for (time, expected) in [("earliest", "1"), ("latest", "3"), ("max-timestamp", "1"), ("150", "1")] {
        let asked = ["--topic-partitions", "orders:0", "--time", time];
        let printed = tools.run(OFFSETS, &asked, "").await;
        assert_eq!(printed.trim(), format!("orders:0:{expected}"), "{time}");
    }
}

#[tokio::test]
async fn javas_transactional_producer_commits_aborts_and_is_fenced() {
    let Some((broker, tools)) = setup().await else { return };
    broker.create_topic("orders", 2).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/embedded_kafka_tools/Transactions.java");
    let printed = tools.run_source(file).await;
    let mut lines: Vec<_> = printed.lines().filter(|line| !line.contains("INFO") && !line.starts_with('\t')).collect();
    lines.retain(|line| *line == "fenced" || line.starts_with("0 ") || line.starts_with("1 "));
    lines.sort_unstable();
    assert_eq!(lines, ["0 by the second", "0 committed", "1 by the second", "1 committed", "fenced"], "{printed}");
    assert_eq!(broker.committed("fulfilment", "orders", 0), Some(7));
    let values: Vec<_> = broker
        .records("orders", 0)
        .unwrap()
        .into_iter()
        .map(|record| if record.control { "marker".into() } else { record.value.unwrap() })
        .collect();
    assert_eq!(values, ["committed", "marker", "aborted", "marker", "abandoned", "marker", "by the second", "marker"]);
}

/// What Kafka's consumers of both protocols and its group tool make of a group.
async fn consume_in_a_group(protocol: &str) {
    let Some((broker, tools)) = setup().await else { return };
    broker.create_topic("orders", 4).unwrap();
    for partition in 0..4 {
        for _ in 0..5 {
            let batch = BatchWriter::new().record(Some(b"k"), Some(b"v"), vec![]).build();
            broker.append_raw("orders", partition, batch).unwrap();
        }
    }
    let group_protocol = format!("group.protocol={protocol}");
    let consume = ["--topic", "orders", "--group", "fulfilment", "--from-beginning", "--timeout-ms", "40000"];
    let consume = [&consume[..], &["--consumer-property", &group_protocol]].concat();
    let watch = async {
        // Both are members, and the group has settled.
        let settled = async {
            while broker.group_members("fulfilment").len() < 2 || broker.group_state("fulfilment") != Some("Stable") {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(180), settled).await.expect("two consumers in a stable group");
        let members = tools.run(GROUPS, &["--describe", "--group", "fulfilment", "--members", "--verbose"], "").await;
        let listed = tools.run(GROUPS, &["--list", "--state", "--type"], "").await;
        (members, listed)
    };
    let (printed, others, (members, listed)) =
        tokio::join!(tools.run(CONSUMER, &consume, ""), tools.run(CONSUMER, &consume, ""), watch);
    // The second may read again what the first had not committed yet.
    assert!(printed.lines().chain(others.lines()).filter(|line| *line == "v").count() >= 20);
    let rows: Vec<Vec<_>> = members.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    let shares: Vec<_> = rows.iter().filter(|row| row.first() == Some(&"fulfilment")).map(|row| row[4]).collect();
    assert_eq!(shares, ["2", "2"], "{members}");
    let line = listed.lines().find(|line| line.starts_with("fulfilment")).unwrap_or_default().to_lowercase();
    assert!(line.contains(protocol) && line.contains("stable"), "{listed}");
    assert_eq!((broker.group_state("fulfilment"), broker.group_members("fulfilment").len()), (Some("Empty"), 0));
    for partition in 0..4 {
        assert_eq!(broker.committed("fulfilment", "orders", partition), Some(5));
    }
    let delete = ["--delete-offsets", "--group", "fulfilment", "--topic", "orders:1"];
    tools.run(GROUPS, &delete, "").await;
    assert_eq!((0..2).map(|at| broker.committed("fulfilment", "orders", at)).collect::<Vec<_>>(), [Some(5), None]);
}

#[tokio::test]
async fn javas_consumers_share_a_classic_group() {
    consume_in_a_group("classic").await;
}

#[tokio::test]
async fn javas_consumers_share_a_group_by_kip_848() {
    consume_in_a_group("consumer").await;
}
