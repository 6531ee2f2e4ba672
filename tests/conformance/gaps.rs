//! Logs that compaction has been at.

use std::sync::Arc;
use std::time::Duration;

use bezoar::embedded::{Api, BatchWriter};

use crate::fixture::{Fixture, Reading, partition, records};

pub(crate) async fn embedded_an_emptied_batch_is_passed(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..3)).await;
    // Five offsets whose records were all superseded; at the end of the log nothing else can be in the answer.
    broker.append_raw(&topic, 0, BatchWriter::new().last_offset_delta(4).build()).unwrap();
    let reading = fixture.read(&partition, 0).await;
    let offsets: Vec<_> = reading.records_until(8).await.into_iter().map(|record| record.offset).collect();
    assert_eq!(offsets, [0, 1, 2]);

    // At the end it waits for records; standing at the gap it would ask thousands of times.
    let before = broker.requests(Api::Fetch);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(broker.requests(Api::Fetch) - before < 100);
    fixture.produce(&partition, records(3..4)).await;
    let record = &reading.records(1).await[0];
    assert_eq!((record.offset, record.value.as_deref()), (8, Some(&b"3"[..])));
    assert_eq!(reading.problems(), []);
}

pub(crate) async fn embedded_many_emptied_batches_are_passed_and_told(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    for _ in 0..25 {
        broker.append_raw(&topic, 0, BatchWriter::new().last_offset_delta(99).build()).unwrap();
    }
    fixture.produce(&partition, records(0..1)).await;
    // So little at a time that an answer holds one batch.
    let ports = fixture.with(|settings| settings.fetch_max_bytes = 1).await;
    let reading = Reading::new(&partition, 1 << 20);
    ports.source.add(partition.clone(), None, 0, Arc::clone(&reading.feed));
    let mut told = Vec::new();
    let data = loop {
        let batch = reading.batch().await;
        if !batch.is_empty() {
            break batch;
        }
        told.push(batch.next_offset());
    };
    assert_eq!(told, [1_000, 2_000], "often enough for the watermark, too rarely to fill the feed");
    assert_eq!(data.get(0).map(|record| record.offset()), Some(2_500));
    assert_eq!(reading.problems(), []);
}

pub(crate) async fn embedded_offsets_without_any_batch_are_passed(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..1)).await;
    broker.leave_gap(&topic, 0, 1_000_000).unwrap();
    fixture.produce(&partition, records(1..2)).await;
    let reading = fixture.read(&partition, 1).await;
    assert_eq!(reading.records(1).await[0].offset, 1_000_001);
    assert_eq!(reading.problems(), []);
}
