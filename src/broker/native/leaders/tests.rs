use kafka_protocol::messages::{BrokerId, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::*;

const AGE: Duration = Duration::from_secs(300);

/// One partition of a topic: who leads it, in which epoch.
fn told(name: &str, id: u128, broker: i32, epoch: i32) -> MetadataResponse {
    let partition = MetadataResponsePartition::default().with_leader_id(BrokerId(broker)).with_leader_epoch(epoch);
    let topic = MetadataResponseTopic::default()
        .with_name(Some(TopicName(StrBytes::from_string(name.to_owned()))))
        .with_topic_id(Uuid::from_u128(id))
        .with_partitions(vec![partition]);
    MetadataResponse::default().with_topics(vec![topic])
}

fn refused(name: &str, code: i16) -> MetadataResponse {
    let mut answer = told(name, 1, 1, 1);
    answer.topics[0].error_code = code;
    answer
}

fn leader(leaders: &Leaders, name: &str) -> Option<Result<(i32, i32), ErrorCode>> {
    let found = leaders.of(&TopicPartition::new(name, 0))?;
    Some(found.map(|leader| (leader.broker, leader.epoch)))
}

#[test]
fn leaders_are_told_by_topic_and_partition() {
    let leaders = Leaders::new(AGE);
    assert_eq!(leader(&leaders, "orders"), None);
    leaders.learn(&told("orders", 1, 7, 3));
    assert_eq!(leader(&leaders, "orders"), Some(Ok((7, 3))));
    let missing = leaders.of(&TopicPartition::new("orders", 1));
    assert_eq!(missing, Some(Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)));
    leaders.learn(&told("orders", 1, -1, 4));
    assert_eq!(leader(&leaders, "orders"), Some(Err(ErrorCode(5))), "LEADER_NOT_AVAILABLE");
    leaders.learn(&refused("orders", 29));
    assert_eq!(leader(&leaders, "orders"), Some(Err(ErrorCode(29))));
}

#[test]
fn an_older_epoch_does_not_replace_a_newer_one_of_the_same_topic() {
    let leaders = Leaders::new(AGE);
    leaders.learn(&told("orders", 1, 7, 3));
    leaders.learn(&told("orders", 1, 6, 2));
    assert_eq!(leader(&leaders, "orders"), Some(Ok((7, 3))));
    leaders.learn(&told("orders", 1, 5, 4));
    assert_eq!(leader(&leaders, "orders"), Some(Ok((5, 4))));
    leaders.learn(&told("orders", 2, 6, 0));
    assert_eq!(leader(&leaders, "orders"), Some(Ok((6, 0))), "a topic that was created anew");
    leaders.learn(&told("orders", 2, 7, -1));
    assert_eq!(leader(&leaders, "orders"), Some(Ok((7, -1))), "a broker that tells no epochs");
}

#[tokio::test(start_paused = true)]
async fn topics_grow_old_and_those_that_nobody_asks_about_are_forgotten() {
    let leaders = Leaders::new(AGE);
    leaders.learn(&told("orders", 1, 7, 3));
    leaders.learn(&told("refunds", 2, 7, 3));
    assert!(leaders.is_fresh("orders") && !leaders.is_fresh("others"));
    for _ in 0..4 {
        tokio::time::advance(AGE).await;
        assert!(!leaders.is_fresh("orders"));
        assert!(leader(&leaders, "orders").is_some());
        leaders.learn(&told("orders", 1, 7, 3));
        assert!(leaders.is_fresh("orders"));
    }
    assert_eq!(leader(&leaders, "refunds"), None);
    leaders.learn(&refused("orders", 3));
    assert!(!leaders.is_fresh("orders"), "an error is no knowledge");
}
