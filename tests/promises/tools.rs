//! Kafka's own tools, where a real broker and their jars (`KAFKA_LIBS`) are there: what is committed and dead-lettered
//! is what they show.

use std::process::Command;

use bezoar::policy::{Category, DeadLetterTopics};
use bezoar::record::ProducerRecord;
use bezoar::{Delivery, Failure, Utf8, handler_fn};

use crate::support::{Cluster, soon};

/// Runs one of Kafka's tools on the broker of `cluster`; `None` where there are none, or an embedded broker.
fn tool(cluster: &Cluster, class: &str, arguments: &[&str]) -> Option<String> {
    let libs = std::env::var("KAFKA_LIBS").ok().filter(|_| std::env::var_os("KAFKA_BOOTSTRAP").is_some())?;
    let output = Command::new("java")
        .args(["-cp", &format!("{libs}/*"), class, "--bootstrap-server", &cluster.bootstrap])
        .args(arguments)
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    Some(shown)
}

/// Kafka's consumer-groups tool shows `offset` committed for each partition, and nothing left to do.
pub(crate) fn assert_committed(cluster: &Cluster, group: &str, topic: &str, partitions: i32, offset: i64) {
    let class = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
    let Some(shown) = tool(cluster, class, &["--describe", "--group", group]) else { return };
    for partition in 0..partitions {
        let expected = [group, topic, &partition.to_string(), &offset.to_string(), &offset.to_string(), "0"];
        let found = shown.lines().any(|line| line.split_whitespace().take(6).eq(expected));
        assert!(found, "{expected:?} is not in\n{shown}");
    }
}

/// A dead letter as other clients see it: with Kafka's console consumer on a real broker, byte for byte on both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_can_read_what_was_dead_lettered_and_committed() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("others", 1).await, cluster.name("others"));
    let record = ProducerRecord::to(topic.as_str()).key("shop-1").value("{\"id\": 2").header("trace", "abc");
    cluster.append(&topic, 0, vec![record, ProducerRecord::to(topic.as_str()).value("good")]).await;
    let handler = handler_fn(|text: String, _: Delivery| async move {
        if text == "good" { Ok(()) } else { Err(Failure::validation("an order must end")) }
    });
    let builder = cluster.consumer(&group).dead_letter_topics(DeadLetterTopics::per_category());
    let consumer = builder.topic(&topic, Utf8, handler).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 2).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();

    assert_committed(&cluster, &group, &topic, 1, 2);
    let dead_letters = format!("{topic}.dlq.{}", Category::Validation);
    let expected = [
        ("trace", "abc".to_owned()),
        ("__dlq.errors.topic", topic.clone()),
        ("__dlq.errors.partition", "0".to_owned()),
        ("__dlq.errors.offset", "0".to_owned()),
        ("__dlq.errors.group", group.clone()),
        ("__dlq.errors.delivery.count", "1".to_owned()),
        ("__dlq.errors.message", "an order must end".to_owned()),
        ("bezoar.category", "validation".to_owned()),
    ];
    let records = cluster.read(&dead_letters).await;
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].key(), records[0].value()), (Some(&b"shop-1"[..]), Some(&b"{\"id\": 2"[..])));
    for (name, value) in &expected {
        assert_eq!(records[0].headers().text(name), Some(value.as_str()), "{name}");
    }
    let shown = tool(
        &cluster,
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        &[
            "--topic",
            &dead_letters,
            "--from-beginning",
            "--max-messages",
            "1",
            "--timeout-ms",
            "30000",
            "--formatter-property",
            "print.headers=true",
            "--formatter-property",
            "print.key=true",
        ],
    );
    if let Some(shown) = shown {
        for (name, value) in &expected {
            assert!(shown.contains(&format!("{name}:{value}")), "{name} is not in {shown}");
        }
        assert!(shown.trim_end().ends_with("\tshop-1\t{\"id\": 2"), "{shown}");
    }
}
