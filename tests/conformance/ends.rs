//! The ends of logs, from which lag is told.

use bezoar::broker::ReadIsolation;

use crate::fixture::{Fixture, eventually, partition, records};
use crate::transactional::Transactional;

pub(crate) async fn the_end_of_the_log_is_told_while_it_is_read(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let reading = fixture.read(&partition, 0).await;
    eventually("the end of an empty log is told", async || reading.feed.log_end() == Some(0)).await;
    fixture.produce(&partition, records(0..3)).await;
    assert_eq!(reading.values(3).await, ["0", "1", "2"]);
    eventually("the end is told", async || reading.feed.log_end() == Some(3)).await;
    let behind = fixture.read(&partition, 3).await;
    eventually("the end is told to who has nothing to read", async || behind.feed.log_end() == Some(3)).await;
}

pub(crate) async fn what_is_undecided_lies_past_the_end_for_who_reads_committed_records(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..1)).await;
    let mut producer = Transactional::start(fixture, &topic).await;
    producer.write(&["within"]).await;
    fixture.produce(&partition, records(1..3)).await;
    for (isolation, end) in [(ReadIsolation::ReadCommitted, 1), (ReadIsolation::ReadUncommitted, 4)] {
        let ports = fixture.with(|settings| settings.read_isolation = isolation).await;
        let reading = fixture.read_over(&ports, &partition, 0, 64 << 20).await;
        eventually("the end is told", async || reading.feed.log_end() == Some(end)).await;
    }
    producer.commit().await;
    let reading = fixture.read(&partition, 0).await;
    eventually("the end lies past the marker", async || reading.feed.log_end() == Some(5)).await;
}
