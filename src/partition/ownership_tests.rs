use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::ownership::Ownership;
use crate::broker::Feed;
use crate::group::Lease;
use crate::record::TopicPartition;

fn ownership() -> Ownership {
    let partition = TopicPartition::new("orders", 0);
    let feed = Arc::new(Feed::new(partition.clone(), 1024, |_| {}));
    Ownership::new(partition, 1, 10, feed)
}

#[test]
fn attempts_are_counted_per_offset() {
    let ownership = ownership();
    let start = SystemTime::UNIX_EPOCH;
    ownership.failed(10, start);
    let second = ownership.failed(10, start + Duration::from_secs(1));
    assert_eq!((second.attempts, second.first_failed), (2, start));
    assert_eq!(ownership.failed(11, start).attempts, 1);
    assert_eq!(ownership.retry(10), None);
}

#[tokio::test]
async fn waiting_for_acknowledgements_ends_with_them_or_with_the_ownership() {
    let ownership = ownership();
    ownership.dead_letters_sent(1);
    assert!(ownership.acknowledged_down_to(1).await);
    ownership.dead_letters_settled(1);
    assert!(ownership.acknowledged_down_to(0).await);
    ownership.dead_letters_sent(1);
    ownership.stop();
    assert!(!ownership.acknowledged_down_to(0).await);
}

#[tokio::test(start_paused = true)]
async fn a_delivery_waits_while_paused_or_without_a_lease_but_not_past_the_end() {
    let lease = Arc::new(Lease::new());
    let ownership = Arc::new(ownership().leased(Some(lease.tenure())));
    let waiting = |ownership: &Arc<Ownership>| {
        let ownership = Arc::clone(ownership);
        tokio::spawn(async move { ownership.until_may_deliver().await })
    };
    let waiter = waiting(&ownership);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!waiter.is_finished());
    ownership.pause(true);
    // Renewed without a word to anybody.
    lease.extend(tokio::time::Instant::now() + Duration::from_secs(10));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!waiter.is_finished() && ownership.is_ours());
    ownership.pause(false);
    assert!(waiter.await.unwrap());
    ownership.pause(true);
    let waiter = waiting(&ownership);
    ownership.stop();
    assert!(!waiter.await.unwrap());
    assert!(ownership.until_ours().await);
    ownership.lose();
    assert!(!ownership.until_ours().await);
}

#[tokio::test]
async fn dead_letters_of_a_lost_ownership_are_not_waited_for() {
    let ownership = ownership();
    ownership.dead_letters_sent(1);
    ownership.lose();
    ownership.all_acknowledged().await;
}
