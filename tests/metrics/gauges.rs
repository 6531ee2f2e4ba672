use std::sync::Arc;

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, Fault};
use bezoar::metrics::names;
use bezoar::{Delivery, Failure, Utf8, handler_fn};
use tokio::sync::Semaphore;

use crate::support::{Cluster, Exported, eventually, serve};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gauges_say_what_partitions_do_and_forget_those_that_are_gone() {
    let cluster = Cluster::start().await;
    let (group, topic) = (cluster.name("gauges"), cluster.topic("gauges", 2).await);
    cluster.values(&topic, 0, ["wait", "then"]).await;
    let gate = Arc::new(Semaphore::new(0));
    let waiting = Arc::clone(&gate);
    let handler = handler_fn(move |_: String, _: Delivery| {
        let gate = Arc::clone(&waiting);
        async move {
            gate.acquire().await.unwrap().forget();
            Ok::<(), Failure>(())
        }
    });
    let consumer = cluster.lone(&group).topic(&topic, Utf8, handler).start().await.unwrap();
    let gauge = |name: &str, label: &str, value: &str| {
        let mut labels = vec![("group", group.as_str()), ("topic", topic.as_str())];
        if !label.is_empty() {
            labels.push((label, value));
        }
        Exported::now().sum(name, &labels)
    };
    eventually("one delivery is in flight, two records behind", async || {
        gauge(names::IN_FLIGHT.name, "", "") == Some(1.0)
            && gauge(names::LAG.name, "partition", "0") == Some(2.0)
            && gauge(names::LAG.name, "partition", "1") == Some(0.0)
            && gauge(names::PARTITIONS.name, "state", "running") == Some(2.0)
    })
    .await;
    consumer.pause_all().await;
    eventually("both are paused", async || gauge(names::PARTITIONS.name, "state", "paused") == Some(2.0)).await;
    assert_eq!(gauge(names::PARTITIONS.name, "", ""), Some(2.0), "each is in one state");
    consumer.resume_all().await;
    gate.add_permits(2);
    eventually("nothing is left", async || {
        gauge(names::IN_FLIGHT.name, "", "") == Some(0.0) && gauge(names::LAG.name, "", "") == Some(0.0)
    })
    .await;
    cluster.values(&topic, 0, ["wait"]).await;
    eventually("one is behind", async || gauge(names::LAG.name, "partition", "0") == Some(1.0)).await;
    drop(consumer);
    eventually("a consumer that is gone has no partitions and is behind in none", async || {
        gauge(names::PARTITIONS.name, "", "") == Some(0.0) && gauge(names::LAG.name, "", "") == Some(0.0)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_that_cannot_be_published_hold_their_partition_visibly() {
    let cluster = Cluster::embedded().await;
    let (group, topic) = (cluster.name("held"), cluster.topic("held", 1).await);
    let dead_letters = format!("{topic}.dlq");
    cluster.values(&topic, 0, ["bad", "bad"]).await;
    let refused = cluster.broker().inject(Fault::on(Api::Produce).topic(&dead_letters).forever().error(ErrorCode(29)));
    let handler = handler_fn(|_: String, _: Delivery| async { Err::<(), _>(Failure::validation("bad")) });
    let builder = cluster.lone(&group).max_unacknowledged_dead_letters(0);
    let consumer = builder.topic(&topic, Utf8, handler).start().await.unwrap();
    let served = serve([consumer.handle()]).await;
    let sum = |name: &str, of: (&str, &str)| Exported::now().sum(name, &[("group", group.as_str()), of]);
    eventually("the partition is held", async || {
        sum(names::HELD.name, ("dead_letter_topic", &dead_letters)) == Some(1.0)
            && sum(names::PARTITIONS.name, ("state", "held")) == Some(1.0)
            && sum(names::UNACKNOWLEDGED.name, ("topic", &topic)) == Some(1.0)
            && sum(names::PUBLISH_FAILURES.name, ("dead_letter_topic", &dead_letters)) >= Some(1.0)
    })
    .await;
    // Held on purpose: nothing is wrong with the instance, and another would be held as well.
    let (status, health) = served.json("/health").await;
    let consumer_health = &health["consumers"][0];
    assert_eq!((status, &health["ready"]), (200, &true.into()), "{health}");
    assert_eq!(consumer_health["held"][0]["dead_letter_topic"], dead_letters.as_str());
    let partition = &consumer_health["partitions"][0];
    assert_eq!(partition["state"], "held");
    assert!(partition["reason"].as_str().unwrap().contains(&dead_letters), "{partition}");
    assert_eq!(consumer.counts().total.dead_lettered, 0, "none is acknowledged yet");

    refused.remove();
    consumer.caught_up().await;
    eventually("nothing is held", async || {
        sum(names::HELD.name, ("dead_letter_topic", &dead_letters)) == Some(0.0)
            && sum(names::PARTITIONS.name, ("state", "held")) == Some(0.0)
    })
    .await;
    assert_eq!(consumer.counts().total.dead_lettered, 2);
    consumer.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_fail_are_counted_each() {
    let cluster = Cluster::embedded().await;
    let (group, topic) = (cluster.name("commits"), cluster.topic("commits", 1).await);
    let handler = handler_fn(|_: String, _: Delivery| async { Ok::<(), Failure>(()) });
    let consumer = cluster.lone(&group).topic(&topic, Utf8, handler).start().await.unwrap();
    eventually("the start is committed", async || {
        consumer.partitions().await.iter().any(|status| status.state == bezoar::consumer::PartitionState::Running)
    })
    .await;
    cluster.broker().inject(Fault::on(Api::OffsetCommit).times(3).error(ErrorCode(29)));
    cluster.values(&topic, 0, ["x"]).await;
    eventually("it is committed in the end", async || {
        consumer.positions().await.iter().any(|position| position.committed == 1)
    })
    .await;
    let exported = Exported::now();
    let failures = exported.sum(names::COMMIT_FAILURES.name, &[("group", &group)]).unwrap_or_default();
    let all = exported.sum(&format!("{}_count", names::COMMIT_DURATION.name), &[("group", &group)]).unwrap();
    assert!((1.0..=3.0).contains(&failures) && all >= failures + 1.0, "{failures} of {all}");
    consumer.shutdown().await.unwrap();
}
