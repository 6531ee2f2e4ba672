//! The embedded broker against Apache Kafka's own command-line tools. `KAFKA_LIBS` names the folder with Kafka's
//! jars; without it there is nothing to run.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use bezoar::embedded::Broker;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

const TOPICS: &str = "org.apache.kafka.tools.TopicCommand";
const PRODUCER: &str = "org.apache.kafka.tools.ConsoleProducer";
const CONSUMER: &str = "org.apache.kafka.tools.consumer.ConsoleConsumer";
const GROUPS: &str = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";

struct Tools {
    libs: String,
    bootstrap: String,
}

impl Tools {
    /// Runs a tool to its end and returns what it printed to stdout.
    async fn run(&self, class: &str, arguments: &[&str], input: &str) -> String {
        let mut child = Command::new("java")
            .args(["-cp", &format!("{}/*", self.libs), class, "--bootstrap-server", &self.bootstrap])
            .args(arguments)
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
        let output = ended.unwrap_or_else(|_| panic!("{class} {arguments:?} did not end")).unwrap();
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{class} {arguments:?}:\n{stdout}\n{stderr}");
        stdout.into_owned()
    }
}

#[tokio::test]
async fn kafkas_own_tools_create_produce_consume_and_describe() {
    let Ok(libs) = std::env::var("KAFKA_LIBS") else {
        println!("skipped: KAFKA_LIBS is not set");
        return;
    };
    let broker = Broker::start().await.unwrap();
    let tools = Tools { libs, bootstrap: broker.bootstrap() };

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
