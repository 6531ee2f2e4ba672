//! Leaders that change: what they have lost is told, and nothing else is noticed.

use bezoar::broker::SourceProblem;

use crate::fixture::{Fixture, partition, record, records};

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
