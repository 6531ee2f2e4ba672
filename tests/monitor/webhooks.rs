//! What each service is sent, from a warning to the end.

use std::time::Duration;

use bezoar::broker::{NewTopic, OffsetSpec};
use bezoar::monitor::{Monitor, MonitorSettings, Severity, Webhook};
use bezoar::record::TopicPartition;
use chrono::DateTime;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::http::{Answer, Posted, Server, cert};
use crate::support::{Cluster, eventually, quick};

/// A dead-letter topic under watch.
struct Watch {
    cluster: Cluster,
    topic: String,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

impl Watch {
    async fn start(settings: MonitorSettings) -> Self {
        let cluster = Cluster::embedded().await;
        let topic = format!("{}.dlq.poison", cluster.name("hooked"));
        cluster.create(NewTopic::new(&topic, 1)).await;
        let settings = settings.thresholds(2, 5);
        settings.check().unwrap();
        let monitor = Monitor::new(cluster.ports().await, [topic.as_str()], settings).source("fulfilment@here");
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move { monitor.run_until(stopped).await });
        Self { cluster, topic, stop: Some(stop), task: Some(task) }
    }

    async fn add(&self, count: usize) {
        self.cluster.append(&self.topic, 0, "x", count).await;
    }

    async fn remove_all(&self) {
        let partition = TopicPartition::new(self.topic.as_str(), 0);
        let end = self.cluster.ports.admin.offset(partition.clone(), OffsetSpec::Latest).await.unwrap();
        self.cluster.ports.admin.delete_records(partition, end).await.unwrap();
    }

    async fn stop(mut self) {
        drop(self.stop.take());
        self.task.take().unwrap().await.unwrap();
    }
}

fn assert_post(post: &Posted, path: &str) {
    assert_eq!((post.method.as_str(), post.path.as_str()), ("POST", path));
    assert_eq!(post.headers["content-type"], "application/json");
    assert!(post.headers["user-agent"].starts_with("bezoar/"), "{:?}", post.headers);
    assert!(post.headers["host"].starts_with("127.0.0.1:"), "{:?}", post.headers);
}

fn time(value: &Value) -> i64 {
    DateTime::parse_from_rfc3339(value.as_str().unwrap()).unwrap().timestamp_millis()
}

/// A warning, then a critical one, then the end; to every service.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_service_gets_what_it_understands() {
    let server = Server::start([]).await;
    let settings = quick()
        .tag("environment", "test")
        .sink(Webhook::json(server.url("/json")).header("X-Token", "hunter2").bearer_token("sesame"))
        .sink(Webhook::slack(server.url("/services/T0/B0/X")))
        .sink(Webhook::pagerduty("0123456789abcdef0123456789abcdef").url(server.url("/v2/enqueue")))
        .sink(Webhook::alertmanager(server.url("")))
        .sink(Webhook::custom(
            server.url("/custom?a=b"),
            r#"{"what": "{{status}} {{tags.environment}}: {{title}}", "page": {{page}}}"#,
        ));
    let watch = Watch::start(settings).await;
    let topic = watch.topic.clone();
    for (add, posts) in [(3, 5), (3, 10), (0, 15)] {
        if add == 0 {
            watch.remove_all().await
        } else {
            watch.add(add).await
        }
        server.until(posts).await;
    }
    watch.stop().await;
    let posts = server.posts();
    assert_eq!(posts.len(), 15);
    let of = |path: &str| posts.iter().filter(|post| post.path.starts_with(path)).cloned().collect::<Vec<_>>();

    let json = of("/json");
    json.iter().for_each(|post| assert_post(post, "/json"));
    assert_eq!((&*json[0].headers["x-token"], &*json[0].headers["authorization"]), ("hunter2", "Bearer sesame"));
    let field = |name: &str| json.iter().map(|post| post.body[name].clone()).collect::<Vec<_>>();
    assert_eq!(field("status"), ["firing", "firing", "resolved"]);
    assert_eq!(field("severity"), ["warning", "critical", "info"]);
    assert_eq!(field("previous"), [json!(null), json!("warning"), json!("critical")]);
    assert!(field("kind").iter().all(|kind| kind == "depth") && field("version").iter().all(|version| version == 1));
    let tags = json!({ "topic": topic, "category": "poison", "environment": "test" });
    assert!(field("tags").iter().all(|it| *it == tags), "{json:#?}");
    assert!(json[0].body["message"].as_str().unwrap().starts_with("depth is 3, threshold is 2"), "{json:#?}");
    assert_eq!(json[1].body["title"], format!("Critical: dead letters in {topic}"));
    assert!(time(&json[2].body["at"]) >= time(&json[0].body["since"]));

    let slack = of("/services");
    slack.iter().for_each(|post| assert_post(post, "/services/T0/B0/X"));
    let bars: Vec<_> = slack.iter().map(|post| post.body["attachments"][0]["color"].clone()).collect();
    assert_eq!(bars, ["warning", "danger", "good"]);
    assert_eq!(slack[0].body["text"], format!("*Warning: dead letters in {topic}*"));
    let fields = slack[0].body["attachments"][0]["fields"].as_array().unwrap();
    assert!(fields.contains(&json!({ "title": "topic", "value": topic, "short": true })), "{fields:?}");

    let pagerduty = of("/v2/enqueue");
    pagerduty.iter().for_each(|post| assert_post(post, "/v2/enqueue"));
    let actions: Vec<_> = pagerduty.iter().map(|post| post.body["event_action"].clone()).collect();
    assert_eq!(actions, ["trigger", "trigger", "resolve"]);
    let key = json!(format!("bezoar/depth/{topic};environment=test"));
    assert!(pagerduty.iter().all(|post| post.body["dedup_key"] == key), "{pagerduty:#?}");
    assert!(pagerduty.iter().all(|post| post.body["routing_key"] == "0123456789abcdef0123456789abcdef"));
    let payload = &pagerduty[1].body["payload"];
    assert_eq!((&payload["severity"], &payload["source"]), (&json!("critical"), &json!("fulfilment@here")));
    assert_eq!((&payload["component"], &payload["custom_details"]["tags"]), (&json!(topic), &tags));
    assert!(payload["summary"].as_str().is_some_and(|text| text.len() <= 1_024 && text.starts_with("Critical: ")));
    time(&payload["timestamp"]);

    let alertmanager = of("/api/v2/alerts");
    alertmanager.iter().for_each(|post| assert_post(post, "/api/v2/alerts"));
    let alerts = |index: usize| alertmanager[index].body.as_array().unwrap().clone();
    let severities = |index| alerts(index).iter().map(|alert| alert["labels"]["severity"].clone()).collect::<Vec<_>>();
    assert_eq!(
        [severities(0), severities(1), severities(2)],
        [vec!["warning"], vec!["warning", "critical"], vec!["critical"]]
    );
    let labels = json!({
        "alertname": "BezoarDeadLetterDepth", "severity": "warning", "topic": topic, "category": "poison", "environment": "test",
    });
    assert_eq!(alerts(0)[0]["labels"], labels);
    assert_eq!(alerts(1)[0]["labels"], labels, "what has ended is the same alert");
    let now = json[2].body["at"].clone();
    let lasts = |alert: &Value| time(&alert["endsAt"]) > time(&now);
    assert!(lasts(&alerts(0)[0]) && lasts(&alerts(1)[1]), "it is believed until the next word comes");
    assert!(!lasts(&alerts(1)[0]) && !lasts(&alerts(2)[0]), "{alertmanager:#?}");
    let annotations = &alerts(1)[1]["annotations"];
    assert_eq!(annotations["summary"], format!("Critical: dead letters in {topic}"));
    assert!(annotations["description"].as_str().unwrap().contains("threshold is 5"));

    let custom = of("/custom");
    custom.iter().for_each(|post| assert_post(post, "/custom?a=b"));
    let expected = json!({ "what": format!("firing test: Warning: dead letters in {topic}"), "page": false });
    assert_eq!(custom[0].body, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_pass_is_tried_again_and_what_does_not_is_left() {
    let patient = Server::start([Answer::Status(500), Answer::Close, Answer::Busy(1)]).await;
    let refusing = Server::start([Answer::Status(400)]).await;
    let moved = Server::start([Answer::Elsewhere("/other")]).await;
    let settings = quick()
        .sink(Webhook::json(patient.url("/")))
        .sink(Webhook::json(refusing.url("/")))
        .sink(Webhook::json(moved.url("/")));
    let watch = Watch::start(settings).await;
    watch.add(3).await;
    let posts = patient.until(4).await;
    assert!(posts.iter().all(|post| post.body == posts[0].body), "{posts:#?}");
    watch.add(3).await;
    for server in [&refusing, &moved] {
        let posts = server.until(2).await;
        assert_eq!(posts.iter().map(|post| post.body["severity"].clone()).collect::<Vec<_>>(), ["warning", "critical"]);
        assert!(posts.iter().all(|post| post.path == "/"));
    }
    assert_eq!(patient.until(5).await[4].body["severity"], "critical");
    watch.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_does_not_answer_is_left_after_the_timeout_and_asked_again() {
    let server = Server::start([Answer::Hang]).await;
    let settings = quick().sink(Webhook::json(server.url("/")).timeout(Duration::from_millis(300)));
    let watch = Watch::start(settings).await;
    watch.add(3).await;
    server.until(2).await;
    watch.stop().await;
}

/// The status says what is to be done, whether or not the text behind it ever ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_whose_text_never_ends_is_a_refusal() {
    let server = Server::start([]).await;
    server.always(Answer::Endless(400, 0));
    let settings = quick().sink(Webhook::json(server.url("/")).timeout(Duration::from_millis(300)));
    let watch = Watch::start(settings).await;
    watch.add(3).await;
    server.until(1).await;
    watch.add(3).await;
    let severities = server.until(2).await.into_iter().map(|post| post.body["severity"].clone());
    assert_eq!(severities.collect::<Vec<_>>(), ["warning", "critical"]);
    watch.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_bad_enough_is_sent() {
    let server = Server::start([]).await;
    let watch = Watch::start(quick().sink(Webhook::json(server.url("/")).least(Severity::Critical))).await;
    watch.add(3).await;
    eventually("it is seen", async || watch.cluster.end(&watch.topic).await == 3).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    watch.add(3).await;
    assert_eq!(server.until(1).await[0].body["severity"], "critical");
    watch.remove_all().await;
    assert_eq!(server.until(2).await[1].body["status"], "resolved");
    watch.stop().await;
    assert_eq!(server.posts().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn https_trusts_the_authority_that_is_given_and_no_other() {
    let (trusted, stranger) = (Server::secure().await, Server::secure().await);
    let settings = quick()
        .sink(Webhook::json(trusted.url("/secure")).ca_file(cert("ca.pem")))
        .sink(Webhook::json(stranger.url("/secure")).ca_file(cert("other-ca.pem")));
    let watch = Watch::start(settings).await;
    watch.add(3).await;
    let posts = trusted.until(1).await;
    assert_eq!((posts[0].path.as_str(), &posts[0].body["severity"]), ("/secure", &json!("warning")));
    watch.stop().await;
    assert!(stranger.posts().is_empty());
}
