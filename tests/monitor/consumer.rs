//! A consumer's own monitor.

use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, Fault};
use bezoar::monitor::{AlertKind, AlertState, MonitorSettings, Severity};
use bezoar::policy::{Action, Category};
use bezoar::{Consumer, Utf8, consumer::ConsumerSettings};

use crate::support::{Cluster, Heard, eventually, hasty, obey, quick};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn depths_are_told_from_the_thresholds_on_and_only_the_worst() {
    let (cluster, heard) = (Cluster::start().await, Heard::default());
    let (topic, group) = (cluster.topic("depths", 2).await, cluster.name("depths"));
    let dead_letters = format!("{topic}.dlq.validation");
    let settings = quick().thresholds(3, 6).tag("environment", "test").sink(heard.clone());
    let consumer = cluster.consumer(&group).monitor(settings).topic(&topic, Utf8, obey()).start().await.unwrap();
    cluster.append(&topic, 1, "validation", 4).await;
    let told = heard.until(AlertKind::Depth, &dead_letters, 1).await;
    let warning = told.last().unwrap();
    // All four, or the first three if the look came in between.
    assert_eq!((warning.severity, warning.state), (Severity::Warning, AlertState::Firing));
    assert_eq!(warning.title, format!("Warning: dead letters in {dead_letters}"));
    assert!(warning.message.contains(", threshold is 3"), "{}", warning.message);
    let tag = |name: &str| warning.tags.get(name).map(String::as_str);
    assert_eq!(tag("topic"), Some(dead_letters.as_str()));
    assert_eq!(
        (tag("category"), tag("group"), tag("environment")),
        (Some("validation"), Some(group.as_str()), Some("test"))
    );
    cluster.append(&topic, 0, "validation", 1_230).await;
    let told = heard.until(AlertKind::Depth, &dead_letters, 2).await;
    assert_eq!((told[1].severity, told[1].previous), (Severity::Critical, Some(Severity::Warning)));
    assert!(told[1].message.contains(", threshold is 6"), "{}", told[1].message);
    // The policy of validation asks for no alerts of single letters, and this one lasts: nothing more is told.
    consumer.caught_up().await;
    consumer.shutdown().await.unwrap();
    assert_eq!(heard.of(AlertKind::Depth, &dead_letters).len(), 2, "{:#?}", heard.all());
    assert_eq!(heard.of(AlertKind::Letters, &dead_letters).len(), 0, "{:#?}", heard.all());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poison_is_paged_at_once_and_others_are_told_together() {
    let (cluster, heard) = (Cluster::start().await, Heard::default());
    let (topic, group) = (cluster.topic("letters", 1).await, cluster.name("letters"));
    // Longer than the test: only what is told at once, and what the end brings, is told.
    let settings = quick().group_interval(Duration::from_secs(3_600)).sink(heard.clone());
    let consumer = cluster.consumer(&group).monitor(settings).topic(&topic, Utf8, obey()).start().await.unwrap();
    cluster.append(&topic, 0, "unknown", 20).await;
    cluster.append(&topic, 0, "panic", 1).await;
    let poison = heard.until(AlertKind::Letters, &format!("{topic}.dlq.poison"), 1).await;
    assert_eq!((poison[0].severity, poison[0].page), (Severity::Critical, true));
    assert!(poison[0].message.contains(&format!("1 record dead-lettered: {topic}/0/20 ")), "{}", poison[0].message);
    assert!(poison[0].message.ends_with("as it was told"), "{}", poison[0].message);
    cluster.append(&topic, 0, "poison", 5).await;
    consumer.caught_up().await;
    let unknown = format!("{topic}.dlq.unknown");
    assert_eq!(heard.of(AlertKind::Letters, &unknown).len(), 0, "they wait for the end of the interval");
    consumer.shutdown().await.unwrap();
    let unknown = heard.of(AlertKind::Letters, &unknown);
    assert_eq!(unknown.len(), 1, "{unknown:#?}");
    assert_eq!((unknown[0].severity, unknown[0].page), (Severity::Warning, false));
    assert!(unknown[0].message.starts_with("20 records dead-lettered within "), "{}", unknown[0].message);
    assert!(unknown[0].message.contains(&format!(", such as {topic}/0/0 ")), "{}", unknown[0].message);
    let poison = heard.of(AlertKind::Letters, &format!("{topic}.dlq.poison"));
    assert_eq!(poison.len(), 2, "{poison:#?}");
    assert!(poison[1].message.starts_with("5 records dead-lettered within "), "{}", poison[1].message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_letter_is_counted_once_however_they_are_grouped() {
    let (cluster, heard) = (Cluster::start().await, Heard::default());
    let (topic, group) = (cluster.topic("counted", 2).await, cluster.name("counted"));
    let settings = quick().group_interval(Duration::from_millis(20)).sink(heard.clone());
    let consumer = cluster.consumer(&group).monitor(settings).topic(&topic, Utf8, obey()).start().await.unwrap();
    for round in 0..10 {
        cluster.append(&topic, round % 2, "poison", 50).await;
    }
    consumer.caught_up().await;
    consumer.shutdown().await.unwrap();
    let told = heard.of(AlertKind::Letters, &format!("{topic}.dlq.poison"));
    let count = |message: &str| message.split(' ').next().unwrap().replace(',', "").parse::<u64>().unwrap();
    assert_eq!(told.iter().map(|alert| count(&alert.message)).sum::<u64>(), 500, "{told:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alert_false_silences_single_letters_and_not_the_depth() {
    let (cluster, heard) = (Cluster::start().await, Heard::default());
    let (topic, group) = (cluster.topic("silent", 1).await, cluster.name("silent"));
    let policies = hasty().with(Category::Unknown, |policy| policy.alert(false));
    let policies = policies.with(Category::Transient, |policy| policy.action(Action::Skip));
    let builder = cluster.consumer(&group).policies(policies).monitor(quick().thresholds(2, 50).sink(heard.clone()));
    let consumer = builder.topic(&topic, Utf8, obey()).start().await.unwrap();
    cluster.append(&topic, 0, "unknown", 3).await;
    cluster.append(&topic, 0, "transient", 2).await;
    heard.until(AlertKind::Depth, &format!("{topic}.dlq.unknown"), 1).await;
    // What is skipped is in no dead-letter topic: it is told of under its own.
    let skipped = heard.until(AlertKind::Letters, &topic, 1).await;
    assert!(skipped[0].title.contains("transient records given up in"), "{}", skipped[0].title);
    consumer.shutdown().await.unwrap();
    assert_eq!(heard.of(AlertKind::Letters, &format!("{topic}.dlq.unknown")).len(), 0, "{:#?}", heard.all());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_monitor_that_is_off_looks_at_nothing() {
    let (cluster, heard) = (Cluster::embedded().await, Heard::default());
    let (topic, group) = (cluster.topic("off", 1).await, cluster.name("off"));
    let off = MonitorSettings::off().interval(Duration::from_millis(20)).thresholds(1, 2).sink(heard.clone());
    let consumer = cluster.consumer(&group).monitor(off).topic(&topic, Utf8, obey()).start().await.unwrap();
    cluster.append(&topic, 0, "poison", 3).await;
    eventually("the letters are there", async || cluster.end(&format!("{topic}.dlq.poison")).await == 3).await;
    let asked = cluster.broker().requests(Api::ListOffsets);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(cluster.broker().requests(Api::ListOffsets), asked);
    consumer.shutdown().await.unwrap();
    assert!(heard.all().is_empty(), "{:#?}", heard.all());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_that_cannot_be_published_are_told_with_the_end_of_it() {
    let (cluster, heard) = (Cluster::embedded().await, Heard::default());
    let (topic, group) = (cluster.topic("held", 1).await, cluster.name("held"));
    let dead_letters = format!("{topic}.dlq.validation");
    let refused = Fault::on(Api::Produce).topic(&dead_letters).forever().error(ErrorCode(19));
    let refused = cluster.broker().inject(refused);
    let builder =
        cluster.consumer(&group).request_timeout(Duration::from_millis(300)).monitor(quick().sink(heard.clone()));
    let consumer = builder.topic(&topic, Utf8, obey()).start().await.unwrap();
    cluster.append(&topic, 0, "validation", 1).await;
    let held = heard.until(AlertKind::Held, &dead_letters, 1).await;
    assert_eq!((held[0].severity, held[0].state), (Severity::Critical, AlertState::Firing));
    assert!(
        held[0].message.contains("partitions 0 wait") && held[0].message.contains("NOT_ENOUGH_REPLICAS"),
        "{held:#?}"
    );
    refused.remove();
    let held = heard.until(AlertKind::Held, &dead_letters, 2).await;
    assert_eq!((held[1].state, &held[1].key), (AlertState::Resolved, &held[0].key));
    consumer.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_of_patterns_and_of_routing_functions_are_watched() {
    let (cluster, heard) = (Cluster::start().await, Heard::default());
    let (prefix, group) = (cluster.name("patterns"), cluster.name("patterns"));
    let builder = cluster.consumer(&group).topic_refresh(Duration::from_millis(500));
    let graveyard = cluster.topic("graveyard", 1).await;
    let chosen = graveyard.clone();
    let builder = builder
        .monitor(quick().thresholds(2, 50).sink(heard.clone()))
        .route_dead_letters(move |_, category| (category == Category::Poison).then(|| chosen.clone()))
        .missing_topics(bezoar::consumer::MissingTopics::Wait);
    let consumer = builder.topic_pattern(&format!("{prefix}.*"), Utf8, obey()).start().await.unwrap();
    let topic = cluster.topic("patterns", 1).await;
    cluster.append(&topic, 0, "validation", 2).await;
    cluster.append(&topic, 0, "poison", 2).await;
    heard.until(AlertKind::Depth, &format!("{topic}.dlq.validation"), 1).await;
    heard.until(AlertKind::Depth, &graveyard, 1).await;
    consumer.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_look_disturbs_nobody_and_hides_no_other_topic() {
    let (cluster, heard) = (Cluster::embedded().await, Heard::default());
    let (topic, group) = (cluster.topic("looks", 1).await, cluster.name("looks"));
    let settings = quick().thresholds(2, 50).sink(heard.clone());
    let consumer = cluster.consumer(&group).monitor(settings).topic(&topic, Utf8, obey()).start().await.unwrap();
    let (blind, seen) = (format!("{topic}.dlq.poison"), format!("{topic}.dlq.validation"));
    // TOPIC_AUTHORIZATION_FAILED.
    let refused = Fault::on(Api::ListOffsets).topic(&blind).forever().error(ErrorCode(29));
    let refused = cluster.broker().inject(refused);
    cluster.append(&topic, 0, "poison", 2).await;
    cluster.append(&topic, 0, "validation", 2).await;
    heard.until(AlertKind::Depth, &seen, 1).await;
    eventually("it goes on", async || cluster.ports_committed(&group, &topic).await == Some(4)).await;
    assert_eq!(heard.of(AlertKind::Depth, &blind).len(), 0);
    refused.remove();
    heard.until(AlertKind::Depth, &blind, 1).await;
    consumer.shutdown().await.unwrap();
}

#[test]
fn a_file_describes_it_and_mistakes_are_found_before_anything_starts() {
    let build = |text: &str| {
        let text = format!("group = \"g\"\nbootstrap = [\"127.0.0.1:1\"]\n[monitor]\n{text}");
        let settings: ConsumerSettings = toml::from_str(&text).unwrap();
        Consumer::from_settings(settings).map_err(|error| error.to_string())
    };
    let start = |text: &str| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let builder = build(text)?.topic("orders", Utf8, obey());
        runtime.block_on(builder.start()).map(drop).map_err(|error| error.to_string())
    };
    assert!(build("interval = \"1m\"\nwarning = 7\nenabled = true").is_ok());
    let error = start("warning = 50\ncritical = 20").unwrap_err();
    assert!(error.contains("monitor.critical = 20 is not above monitor.warning (50)"), "{error}");
    let error = build("[[monitor.webhooks]]\nkind = \"slack\"").err().unwrap();
    assert!(error.contains("monitor.webhooks[0].url"), "{error}");
    let error = toml::from_str::<ConsumerSettings>("group = \"g\"\nbootstrap = []\n[monitor]\nintervall = \"1m\"");
    assert!(error.unwrap_err().to_string().contains("unknown field `intervall`"));
}

/// A service may write dead letters and need not be let read them, or see the tools' marks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_missing_on_the_marks_hides_no_depth() {
    let (cluster, heard) = (Cluster::embedded().await, Heard::default());
    let (topic, group) = (cluster.topic("rights", 1).await, cluster.name("rights"));
    let dead_letters = format!("{topic}.dlq.poison");
    let refused = Fault::on(Api::Metadata).topic(format!("{dead_letters}.replays")).forever().error(ErrorCode(29));
    let refused = cluster.broker().inject(refused);
    let settings = quick().thresholds(2, 50).sink(heard.clone());
    let consumer = cluster.consumer(&group).monitor(settings).topic(&topic, Utf8, obey()).start().await.unwrap();
    cluster.append(&topic, 0, "poison", 2).await;
    heard.until(AlertKind::Depth, &dead_letters, 1).await;
    assert!(refused.fired() > 0);
    consumer.shutdown().await.unwrap();
}
