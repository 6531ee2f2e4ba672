//! One dead letter by its place.

use bezoar::broker::OffsetSpec;
use bezoar::record::RecordId;
use bezoar::replay::{Filter, ReplayError};
use uuid::Uuid;

use crate::fixture::{Fixture, eventually, partition};
use crate::made::{Made, letters, publish, source};
use crate::transactional::Transactional;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_is_shown_by_its_place() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(2).await;
    publish(&fixture, &topic, 1, (0..20).map(Made::of)).await;
    let letters = letters(&fixture, &[]);
    for offset in [0, 7, 19] {
        let at = RecordId { topic_id: None, partition: partition(&topic, 1), offset };
        let entry = letters.show(&at).await.unwrap();
        assert_eq!((source(&entry), entry.at.to_string()), (offset, at.to_string()));
        assert_eq!(letters.show(&entry.at).await, Ok(entry), "with the topic's id too");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_told_apart() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    publish(&fixture, &topic, 0, (0..5).map(Made::of)).await;
    let mut producer = Transactional::start(&fixture, &topic).await;
    producer.write(&["aborted"]).await;
    producer.abort().await;
    // A real broker writes the marker a moment later.
    let end = async || fixture.ports.admin.offset(partition(&topic, 0), OffsetSpec::Latest).await.unwrap();
    eventually("the marker is there", async || end().await == 7).await;
    fixture.ports.admin.delete_records(partition(&topic, 0), 2).await.unwrap();
    let id = fixture.topic_id(&topic).await;
    let letters = letters(&fixture, &[&topic]);
    let refused = async |topic: &str, number, offset, topic_id| {
        let at = RecordId { topic_id, partition: partition(topic, number), offset };
        let refused = letters.show(&at).await.unwrap_err();
        let named = refused.to_string().contains(if offset < 0 { topic } else { "/" });
        assert!(named || matches!(refused, ReplayError::NoSuchTopic { .. }), "{refused}");
        refused
    };
    assert!(matches!(refused(&topic, 0, 1, id).await, ReplayError::Gone { log_start: 2, .. }));
    assert!(matches!(refused(&topic, 0, -1, id).await, ReplayError::Gone { log_start: 2, .. }));
    assert!(matches!(refused(&topic, 0, 7, id).await, ReplayError::BeyondEnd { log_end: 7, .. }));
    // Of an aborted transaction, and its marker.
    for offset in [5, 6] {
        assert!(matches!(refused(&topic, 0, offset, id).await, ReplayError::NoSuchLetter { .. }), "{offset}");
    }
    for number in [1, -1] {
        assert!(matches!(refused(&topic, number, 0, id).await, ReplayError::NoSuchPartition { partitions: 1, .. }));
    }
    assert!(matches!(refused("no-such-topic", 0, 0, None).await, ReplayError::NoSuchTopic { .. }));
    let other = Uuid::from_u128(1);
    let anew = refused(&topic, 0, 3, Some(other)).await;
    assert!(matches!(anew, ReplayError::OtherTopic { asked, found, .. } if asked == other && Some(found) == id));
    assert_eq!(letters.list(&Filter::new(), 0).await.unwrap().matched, 3);
}
