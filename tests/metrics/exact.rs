use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::handler::HandlerGone;
use bezoar::metrics::names::{self, Kind};
use bezoar::metrics::{Counts, TopicCounts};
use bezoar::policy::{Action, Category, Policies};
use bezoar::{Delivery, Failure, Handler, HandlerFactory, Utf8, factory_fn};

use crate::support::{Cluster, Exported, eventually, hasty};

/// Does what the record says.
struct Obedient {
    /// Records whose handler went away once.
    gone: Arc<Mutex<HashSet<(i32, i64)>>>,
}

impl Handler for Obedient {
    type Message = String;
    type Error = Failure;

    async fn handle(&mut self, order: String, delivery: Delivery) -> Result<(), Failure> {
        match order.as_str() {
            "flaky" if delivery.attempt() <= 2 => Err(Failure::transient("not yet")),
            "bad" => Err(Failure::validation("no such order")),
            "skip" => Err(Failure::dependency("nobody needs it")),
            "unsure" => Err(Failure::new(std::io::Error::other("who knows"))),
            "panic" => panic!("as told"),
            "gone" if self.gone.lock().unwrap().insert((delivery.partition(), delivery.offset())) => {
                Err(Failure::new(HandlerGone { reason: "as told".to_owned() }))
            }
            "yield" => {
                tokio::task::yield_now().await;
                Ok(())
            }
            "slow" => {
                tokio::time::sleep(Duration::from_millis(3)).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn obedient() -> impl HandlerFactory<Handler = Obedient> {
    let gone = Arc::default();
    factory_fn(move |_| {
        let gone = Arc::clone(&gone);
        async move { Ok(Obedient { gone }) }
    })
}

fn policies() -> Policies {
    hasty()
        .with(Category::Dependency, |policy| policy.action(Action::Skip).retries(0))
        .with(Category::Unknown, |policy| policy.retries(1))
}

/// Each partition's orders, and how often each is in them.
const SCRIPT: [(&str, usize); 9] = [
    ("ok", 100),
    ("flaky", 3),
    ("bad", 4),
    ("yield", 50),
    ("skip", 2),
    ("panic", 2),
    ("slow", 5),
    ("gone", 1),
    ("unsure", 3),
];

fn script() -> Vec<&'static str> {
    // Mixed, so that failures meet runs of good records.
    let mut left = SCRIPT;
    let mut orders = Vec::new();
    while left.iter().any(|(_, count)| *count > 0) {
        for (order, count) in left.iter_mut().filter(|(_, count)| *count > 0) {
            *count -= 1;
            orders.push(*order);
        }
    }
    orders
}

/// How often an order is in the scripts of both partitions.
fn times(order: &str) -> u64 {
    2 * SCRIPT.iter().find(|(name, _)| *name == order).unwrap().1 as u64
}

/// What becomes of both partitions' orders.
fn assert_exact(counts: &TopicCounts) {
    let [ok, flaky, bad, yields, skip, panics, slow, gone, unsure] = SCRIPT.map(|(order, _)| times(order));
    assert_eq!(counts.handled, ok + flaky + yields + slow + gone);
    let by_category = [
        (Category::Validation, [bad, 0, bad, 0, 0]),
        (Category::Transient, [2 * flaky, 2 * flaky, 0, 0, 0]),
        (Category::Dependency, [skip, 0, 0, skip, skip]),
        (Category::Poison, [panics, 0, panics, 0, panics]),
        (Category::Unknown, [2 * unsure, unsure, unsure, 0, unsure]),
    ];
    for (category, expected) in by_category {
        let found = counts.category(category);
        let found = [found.failed, found.retried, found.dead_lettered, found.skipped, found.alerts];
        assert_eq!(found, expected, "{category}: failed, retried, dead-lettered, skipped, alerts");
    }
    let sums = [counts.failed, counts.retried, counts.dead_lettered, counts.skipped, counts.alerts];
    let expected: Vec<u64> = (0..5).map(|figure| by_category.iter().map(|(_, row)| row[figure]).sum()).collect();
    assert_eq!(sums, expected[..]);
    assert_eq!((counts.poison, counts.handlers_lost, counts.restarts), (panics, panics, panics + gone));
}

/// What is exported of a topic is what the handles of its consumers say, series by series.
fn assert_exported(group: &str, topic: &str, handles: &[Counts]) {
    let exported = Exported::now();
    let plain = [("group", group), ("topic", topic)];
    let sum = |of: &dyn Fn(TopicCounts) -> u64| handles.iter().map(|counts| of(counts.topic(topic))).sum::<u64>();
    let check = |name: &str, labels: &[(&str, &str)], expected: u64| {
        let labels: Vec<_> = plain.iter().chain(labels).copied().collect();
        assert_eq!(exported.sum(name, &labels), Some(expected as f64), "{name} {labels:?}");
    };
    check(names::HANDLED.name, &[], sum(&|counts| counts.handled));
    check(names::QUARANTINED.name, &[], sum(&|counts| counts.poison));
    check(names::HANDLERS_LOST.name, &[], sum(&|counts| counts.handlers_lost));
    check(names::HANDLERS_LOST.name, &[("fault", "panic")], sum(&|counts| counts.handlers_lost));
    check(names::RESTARTS.name, &[], sum(&|counts| counts.restarts));
    check(names::RESTARTS.name, &[("cause", "failure")], times("gone"));
    check(names::ALERTS.name, &[("page", "true")], times("panic"));
    check(names::ASSIGNED.name, &[], sum(&|counts| counts.partitions_assigned));
    check(names::REVOKED.name, &[], sum(&|counts| counts.partitions_revoked));
    check(names::LOST.name, &[], sum(&|counts| counts.partitions_lost));
    for category in Category::ALL {
        let of = [("category", category.as_str())];
        let sum = |of: fn(bezoar::metrics::CategoryCounts) -> u64| sum(&|counts| of(counts.category(category)));
        check(names::FAILED.name, &of, sum(|counts| counts.failed));
        check(names::RETRIED.name, &of, sum(|counts| counts.retried));
        check(names::SKIPPED.name, &of, sum(|counts| counts.skipped));
        check(names::ALERTS.name, &of, sum(|counts| counts.alerts));
        let dead_letters = format!("{topic}.dlq");
        let of = [of[0], ("dead_letter_topic", dead_letters.as_str())];
        check(names::DEAD_LETTERS.name, &of, sum(|counts| counts.dead_lettered));
    }
    // Each delivery is timed once, that of a handler that went away too.
    let deliveries = sum(&|counts| counts.handled + counts.failed) + times("gone");
    check(&format!("{}_count", names::HANDLER_DURATION.name), &[], deliveries);
    check(&format!("{}_bucket", names::HANDLER_DURATION.name), &[("le", "+Inf")], deliveries);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_counter_of_a_mixed_workload_is_exact_on_the_handle_and_in_the_export() {
    let cluster = Cluster::start().await;
    let (group, topic) = (cluster.name("mixed"), cluster.topic("mixed", 2).await);
    for partition in 0..2 {
        cluster.values(&topic, partition, script()).await;
    }
    let member = || cluster.consumer(&group).policies(policies()).topic(&topic, Utf8, obedient()).start();
    let first = member().await.unwrap();
    first.caught_up().await;
    assert_exact(&first.counts().topic(&topic));
    assert_exact(&first.counts().total);
    assert_exported(&group, &topic, &[first.counts()]);

    // A partition goes to another instance, and what comes then is counted where it is handled.
    let second = member().await.unwrap();
    eventually("the second instance has a partition of the first", async || {
        let assigned = second.counts().total.partitions_assigned;
        first.counts().total.partitions_revoked == 1 && assigned == 1 && first.partitions().await.len() == 1
    })
    .await;
    let before = first.counts().total.handled;
    for partition in 0..2 {
        cluster.values(&topic, partition, ["ok"; 40]).await;
    }
    eventually("both have handled what came", async || {
        first.counts().total.handled == before + 40 && second.counts().total.handled == 40
    })
    .await;
    let first_counts = {
        let handle = first.handle();
        first.shutdown().await.unwrap();
        handle.counts()
    };
    eventually("the second instance takes over", async || second.counts().total.partitions_assigned == 2).await;
    let handle = second.handle();
    second.shutdown().await.unwrap();
    assert_exported(&group, &topic, &[first_counts.clone(), handle.counts()]);
    assert_eq!(first_counts.total.partitions_lost + handle.counts().total.partitions_lost, 0);

    let exported = Exported::now();
    let of_group = [("group", group.as_str())];
    // One for the first, one for each of both when they share, one when the second has all; the coordinator may take more.
    assert!(exported.sum(names::REBALANCES.name, &of_group).unwrap() >= 3.0);
    let commits = format!("{}_count", names::COMMIT_DURATION.name);
    assert!(exported.sum(&commits, &of_group).unwrap() >= 2.0);
    let publishing = format!("{}_count", names::PUBLISH_DURATION.name);
    assert!(exported.sum(&publishing, &of_group).unwrap() >= 1.0);
    // What was exported has the labels that its entry names, and `le` where it is a bucket.
    for metric in names::ALL {
        let name = if metric.kind == Kind::Histogram { format!("{}_sum", metric.name) } else { metric.name.to_owned() };
        let found = exported.labels(&name);
        let mut labels: Vec<_> = metric.labels.to_vec();
        labels.sort_unstable();
        assert!(found.is_empty() || found == labels, "{name}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_is_a_lost_handler_and_what_fails_for_the_consumers_end_is_not_counted() {
    let cluster = Cluster::start().await;
    let (group, topic) = (cluster.name("slow"), cluster.topic("slow", 1).await);
    cluster.values(&topic, 0, ["ok", "hang", "ok"]).await;
    let hang = bezoar::handler_fn(|order: String, _: Delivery| async move {
        if order == "hang" {
            std::future::pending::<()>().await;
        }
        Ok::<(), Failure>(())
    });
    let limit = Some(Duration::from_millis(50));
    let consumer = cluster.lone(&group).poison_timeout(limit).topic(&topic, Utf8, hang).start().await.unwrap();
    consumer.caught_up().await;
    let counts = consumer.counts().total;
    assert_eq!((counts.handled, counts.failed, counts.poison, counts.restarts), (2, 1, 1, 1));
    let lost = |fault| {
        Exported::now().sum(names::HANDLERS_LOST.name, &[("group", &group), ("topic", &topic), ("fault", fault)])
    };
    assert_eq!((lost("timeout"), lost("panic")), (Some(1.0), Some(0.0)));
    let handle = consumer.handle();
    consumer.shutdown().await.unwrap();
    assert_eq!(handle.counts().total, counts, "the counts outlive the consumer");
}
