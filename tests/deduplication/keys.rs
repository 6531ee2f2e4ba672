//! Keys as text: different for what is different, the same for what is the same.

use bezoar::record::{RecordId, TopicPartition};
use proptest::prelude::*;
use uuid::Uuid;

use crate::key::Key;

fn id() -> impl Strategy<Value = RecordId> {
    // Few values of each part, so that equal ones are tried too.
    let topic_id = prop::option::of(prop::sample::select(vec![Uuid::from_u128(1), Uuid::from_u128(2)]));
    let topic = prop::sample::select(vec!["orders", "orders.dlq", "00000000-0000-0000-0000-000000000001"]);
    (topic_id, topic, 0..3_i32, 0..3_i64).prop_map(|(topic_id, topic, partition, offset)| RecordId {
        topic_id,
        partition: TopicPartition::new(topic, partition),
        offset,
    })
}

proptest! {
    #[test]
    fn records_have_the_same_key_if_and_only_if_they_are_the_same(one in id(), other in id()) {
        // Names say nothing where there are ids.
        let place = |id: &RecordId| (id.partition.partition(), id.offset);
        let same = match (one.topic_id, other.topic_id) {
            (Some(a), Some(b)) => a == b && place(&one) == place(&other),
            _ => one == other,
        };
        prop_assert_eq!(Key::Record(one).to_string() == Key::Record(other).to_string(), same);
    }

    #[test]
    fn an_order_never_has_the_key_of_a_record(record in id(), order in ".*") {
        let record = Key::Record(record).to_string();
        prop_assert_ne!(&Key::Order(order).to_string(), &record);
        prop_assert_ne!(Key::Order(record.clone()).to_string(), record);
    }
}
