//! Leaders that change: what they have lost is told, and nothing else is noticed.

use std::sync::Arc;

use bezoar::broker::SourceProblem;
use bezoar::record::TopicPartition;

use crate::fixture::{Fixture, Reading, partition, record, records};

pub(crate) async fn embedded_a_leader_that_lost_nothing_is_followed(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let reading = fixture.read(&partition, 0).await;
    for round in 0..5 {
        fixture.produce(&partition, records(3 * round..3 * round + 3)).await;
        if round % 2 == 0 {
            // Before what was written is read.
            broker.bump_leader_epoch(&topic, 0).unwrap();
        }
        let found = reading.records(3).await;
        let expected = i64::from(3 * round)..i64::from(3 * round + 3);
        assert!(found.iter().map(|record| record.offset).eq(expected), "neither a gap nor a repeat: {found:?}");
        broker.bump_leader_epoch(&topic, 0).unwrap();
    }
    let is_harmless =
        |problem: &SourceProblem| matches!(problem, SourceProblem::Retrying(_) | SourceProblem::Recovered);
    assert!(reading.problems().iter().all(is_harmless), "{:?}", reading.problems());
}

pub(crate) async fn embedded_a_log_that_was_cut_back_is_told(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    // Cut to less than was read, and as long as it was or longer by the time that it is read on.
    for refilled in [0, 2, 5] {
        let topic = fixture.topic(1).await;
        let partition = partition(&topic, 0);
        for value in 0..6 {
            fixture.produce(&partition, records(value..value + 1)).await;
        }
        let reading = fixture.read(&partition, 0).await;
        assert_eq!(reading.records(6).await.len(), 6);
        assert_eq!(broker.truncate(&topic, 0, 4).unwrap(), 4);
        for _ in 0..refilled {
            fixture.produce(&partition, vec![record("others")]).await;
        }
        let (records, problem) = reading.drained().await;
        assert_eq!(records, [], "after {refilled} others");
        assert_eq!(problem, SourceProblem::LogTruncated { asked: 6, diverged_at: 4 }, "after {refilled} others");
    }
}

pub(crate) async fn embedded_a_log_that_lost_only_what_was_not_read_goes_on(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..4)).await;
    let reading = fixture.read(&partition, 0).await;
    assert_eq!(reading.records(4).await.len(), 4);
    fixture.ports.source.remove(&partition);
    fixture.produce(&partition, vec![record("lost")]).await;
    broker.truncate(&topic, 0, 4).unwrap();
    fixture.produce(&partition, records(4..6)).await;
    let next = fixture.read(&partition, 4).await;
    assert_eq!(next.values(2).await, ["4", "5"]);
    assert_eq!(next.problems(), []);
}

pub(crate) async fn embedded_a_log_that_was_cut_back_while_nobody_read_is_told(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    for refilled in [0, 2, 5] {
        let topic = fixture.topic(1).await;
        let partition = partition(&topic, 0);
        for value in 0..6 {
            fixture.produce(&partition, records(value..value + 1)).await;
        }
        let epoch = read_to_six(fixture, &partition).await;
        assert_eq!(broker.truncate(&topic, 0, 4).unwrap(), 4);
        for _ in 0..refilled {
            fixture.produce(&partition, vec![record("others")]).await;
        }
        let reading = again(fixture, &partition, epoch).await;
        let (records, problem) = reading.drained().await;
        assert_eq!(records, [], "after {refilled} others");
        assert_eq!(problem, SourceProblem::LogTruncated { asked: 6, diverged_at: 4 }, "after {refilled} others");
    }
}

pub(crate) async fn embedded_a_leader_that_changed_while_nobody_read_is_no_problem(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..6)).await;
    let epoch = read_to_six(fixture, &partition).await;
    broker.bump_leader_epoch(&topic, 0).unwrap();
    fixture.produce(&partition, records(6..8)).await;
    let reading = again(fixture, &partition, epoch).await;
    let batch = reading.batch().await;
    assert_eq!((batch.leader_epoch(), batch.next_offset()), (epoch.map(|epoch| epoch + 1), 8));
    assert_eq!(reading.problems(), []);
}

pub(crate) async fn embedded_an_epoch_that_no_leader_had_does_not_stop_the_reading(fixture: &Fixture) {
    if fixture.embedded.is_none() {
        return;
    }
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..6)).await;
    fixture.produce(&partition, records(6..8)).await;
    let reading = again(fixture, &partition, Some(99)).await;
    assert_eq!(reading.values(2).await, ["6", "7"]);
    assert!(reading.stopped().is_none(), "{:?}", reading.problems());
}

/// Reads a partition up to offset 6, and tells the epoch of the record before it.
async fn read_to_six(fixture: &Fixture, partition: &TopicPartition) -> Option<i32> {
    let reading = fixture.read(partition, 0).await;
    let batch = reading.batch().await;
    fixture.ports.source.remove(partition);
    assert_eq!((batch.next_offset(), reading.feed.log_end()), (6, Some(6)));
    assert!(batch.leader_epoch().is_some());
    batch.leader_epoch()
}

/// Reads a partition from offset 6, where the record before it was of this epoch.
async fn again(fixture: &Fixture, partition: &TopicPartition, epoch: Option<i32>) -> Reading {
    let reading = Reading::new(partition, 64 << 20);
    let id = fixture.topic_id(partition.topic()).await;
    fixture.ports.source.add_at(partition.clone(), id, 6, epoch, Arc::clone(&reading.feed));
    reading
}
