//! Kafka's consumer-groups tool and Bezoar's groups: it shows members, assignments and lag, and the offsets that it resets are
//! where the group starts next.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::{Consumer, Delivery, Failure, Utf8, handler_fn};

use crate::membership::{Kind, Membership};
use crate::place::Place;
use crate::support::{Client, eventually, hasty, turn};
use crate::tools::{GROUPS, Tools};

const PARTITIONS: i32 = 3;
const SESSION: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_classic_group_is_shown_and_reset() {
    show_and_reset(Kind::Sticky).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_of_the_consumer_protocol_is_shown_and_reset() {
    show_and_reset(Kind::Consumer).await;
}

/// Partition and offset of each delivery.
type Seen = Arc<Mutex<Vec<(i32, i64)>>>;

async fn show_and_reset(kind: Kind) {
    let _turn = turn().await;
    let place = Place::find(SESSION).await;
    let client = Client::connect(&place.bootstrap()).await;
    let Some(tools) = Tools::find(&client.bootstrap) else {
        println!("skipped: KAFKA_LIBS names no folder with Kafka's jars");
        return;
    };
    let (topic, group) = (client.topic("shown", PARTITIONS).await, client.name("shown"));
    let seen = Seen::default();
    // The last record of each partition is not handled before the tool has looked.
    let held = Arc::new(tokio::sync::Semaphore::new(0));
    for partition in 0..PARTITIONS {
        client.values(&topic, partition, ["one", "two", "three", "hold"]).await;
    }
    let start = async |client_id: &str| {
        let (seen, held) = (Arc::clone(&seen), Arc::clone(&held));
        let handler = handler_fn(move |value: String, delivery: Delivery| {
            let (seen, held) = (Arc::clone(&seen), Arc::clone(&held));
            async move {
                if value == "hold" {
                    drop(held.acquire().await);
                }
                seen.lock().unwrap().push((delivery.partition(), delivery.offset()));
                Ok::<(), Failure>(())
            }
        });
        let builder = Consumer::builder(&group)
            .bootstrap(&client.bootstrap)
            .policies(hasty())
            .commit_interval(Duration::from_millis(100))
            .client_id(client_id)
            .poison_timeout(None)
            .topic(&topic, Utf8, handler);
        let mut membership = Membership::of(kind, SESSION);
        membership.instance_id = Some(format!("{client_id}-of-{group}"));
        membership.apply(builder).start().await.unwrap()
    };
    let (first, second) = (start("first").await, start("second").await);
    eventually("all but the last records are committed", async || {
        client.committed(&group, &topic, PARTITIONS).await == Some(vec![Some(3); PARTITIONS as usize])
    })
    .await;
    eventually("both have partitions", async || {
        !first.positions().await.is_empty() && !second.positions().await.is_empty()
    })
    .await;

    let shown = tools.run(GROUPS, &["--describe", "--group", &group]).await;
    for partition in 0..PARTITIONS {
        let expected = [&group, &topic, &partition.to_string(), "3", "4", "1"];
        let line = shown.lines().find(|line| line.split_whitespace().take(6).eq(expected));
        let line = line.unwrap_or_else(|| panic!("{expected:?} is not in\n{shown}"));
        assert!(line.contains("/127.0.0.1") && (line.contains("first") || line.contains("second")), "{line}");
    }
    let members = tools.run(GROUPS, &["--describe", "--members", "--verbose", "--group", &group]).await;
    let named: Vec<&str> = members.lines().filter(|line| line.starts_with(&group)).collect();
    assert_eq!(named.len(), 2, "{members}");
    for client_id in ["first", "second"] {
        let line = named.iter().find(|line| line.contains(&format!("{client_id}-of-{group}")));
        let line = line.unwrap_or_else(|| panic!("{client_id} is not in\n{members}"));
        // Which partitions: with the topic's name, however the tool writes it.
        assert!(line.contains(&topic), "{line}");
    }
    let state = tools.run(GROUPS, &["--describe", "--state", "--group", &group]).await;
    assert!(state.contains("Stable"), "{state}");

    // Static members stay members until their session is over: the tool resets only what has none.
    held.add_permits(1_000);
    for consumer in [first, second] {
        consumer.shutdown().await.unwrap();
    }
    assert_eq!(client.committed(&group, &topic, PARTITIONS).await, Some(vec![Some(4); PARTITIONS as usize]));
    eventually("the group has no members", async || {
        client.ports.admin.describe_group(group.clone()).await.is_ok_and(|group| group.members.is_empty())
    })
    .await;
    let reset = ["--reset-offsets", "--group", &group, "--topic", &topic, "--to-offset", "1", "--execute"];
    tools.run(GROUPS, &reset).await;
    seen.lock().unwrap().clear();
    let again = start("first").await;
    eventually("all is committed again", async || {
        client.committed(&group, &topic, PARTITIONS).await == Some(vec![Some(4); PARTITIONS as usize])
    })
    .await;
    again.shutdown().await.unwrap();
    let mut handled = seen.lock().unwrap().clone();
    handled.sort_unstable();
    let expected: Vec<(i32, i64)> =
        (0..PARTITIONS).flat_map(|partition| (1..4).map(move |offset| (partition, offset))).collect();
    assert_eq!(handled, expected, "the group went on from where the tool had put it");
}
