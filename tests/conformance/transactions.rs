//! Logs that transactional producers write.

use std::time::Duration;

use bezoar::broker::{OffsetSpec, ReadIsolation};
use bezoar::record::TopicPartition;
use kafka_protocol::ResponseError;

use crate::fixture::{Fixture, Reading, partition, records};
use crate::transactional::Transactional;

/// How many values each batch of a long transaction has.
const PER_BATCH: usize = 3;

fn assert_nothing_stopped(reading: &Reading) {
    let problems = reading.problems();
    assert!(problems.is_empty(), "{problems:?}");
}

pub(crate) async fn committed_records_are_read_past_the_markers(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..3)).await;
    let mut producer = Transactional::start(fixture, &topic).await;
    for value in 3..6 {
        producer.write(&["within"]).await;
        producer.commit().await;
        fixture.produce(&partition, records(value..value + 1)).await;
    }
    let reading = fixture.read(&partition, 0).await;
    let values = reading.values(9).await;
    assert_eq!(values, ["0", "1", "2", "within", "3", "within", "4", "within", "5"]);
    assert_nothing_stopped(&reading);
}

pub(crate) async fn a_marker_at_the_end_is_passed_and_told(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let mut producer = Transactional::start(fixture, &topic).await;
    producer.write(&["within"]).await;
    producer.commit().await;
    let reading = fixture.read(&partition, 0).await;
    // The watermark is to reach the end of the log, as an operator expects of a consumer without lag.
    let records = reading.records_until(2).await;
    assert_eq!(records.into_iter().map(|record| record.value.unwrap()).collect::<Vec<_>>(), [b"within"]);
    assert_nothing_stopped(&reading);
}

pub(crate) async fn an_open_transaction_is_waited_for_and_not_skipped(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..1)).await;
    let mut producer = Transactional::start(fixture, &topic).await;
    producer.write(&["within"]).await;
    fixture.produce(&partition, records(1..3)).await;
    let reading = fixture.read(&partition, 0).await;
    assert_eq!(reading.values(1).await, ["0"], "what lies before it");
    // Fetches come back empty below the high watermark, which is what a gap looks like.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(reading.feed.front().is_none());
    producer.commit().await;
    assert_eq!(reading.values(3).await, ["within", "1", "2"]);
    fixture.produce(&partition, records(3..4)).await;
    assert_eq!(reading.values(1).await, ["3"], "past the marker");
    assert_nothing_stopped(&reading);
}

pub(crate) async fn a_transaction_of_many_batches_is_read_over_many_fetches(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let (partition, end) = long_transaction(fixture, &topic, true).await;
    let ports = fixture.with(|settings| settings.fetch_max_bytes = 2_000).await;
    let reading = fixture.read_over(&ports, &partition, 0, 64 << 20).await;
    let expected: Vec<_> = (0..20).flat_map(|batch| within(batch).into_iter().chain([batch.to_string()])).collect();
    assert_eq!(texts(&reading.records_until(end).await), expected);
    assert_nothing_stopped(&reading);
}

pub(crate) async fn an_aborted_transaction_of_many_batches_is_left_out_over_many_fetches(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let (partition, end) = long_transaction(fixture, &topic, false).await;
    let ports = fixture.with(|settings| settings.fetch_max_bytes = 2_000).await;
    let expected: Vec<_> = (0..20).map(|batch| batch.to_string()).collect();
    // From the middle of it as well, where its beginning is not seen.
    for (from, first) in [(0, 0), (41, 10)] {
        let reading = fixture.read_over(&ports, &partition, from, 64 << 20).await;
        assert_eq!(texts(&reading.records_until(end).await), expected[first..]);
        assert_nothing_stopped(&reading);
    }
}

/// Twenty batches of one transaction, each followed by a record outside of it; returns the end of the log.
async fn long_transaction(fixture: &Fixture, topic: &str, committed: bool) -> (TopicPartition, i64) {
    let partition = partition(topic, 0);
    let mut producer = Transactional::start(fixture, topic).await;
    for batch in 0..20 {
        let values = within(batch);
        producer.write(&values.iter().map(String::as_str).collect::<Vec<_>>()).await;
        fixture.produce(&partition, records(batch..batch + 1)).await;
    }
    if committed {
        producer.commit().await
    } else {
        producer.abort().await
    }
    let end = 20 * (PER_BATCH as i64 + 1) + 1;
    until_stable(fixture, topic, end).await;
    (partition, end)
}

/// The values of one batch of it, more than half of what a fetch asks for.
fn within(batch: i32) -> Vec<String> {
    (0..PER_BATCH).map(|number| format!("{batch}/{number}/{}", "x".repeat(400))).collect()
}

fn texts(records: &[crate::fixture::Owned]) -> Vec<String> {
    records.iter().map(|record| String::from_utf8(record.value.clone().unwrap()).unwrap()).collect()
}

/// Waits until readers of committed records may go on to the end of the log, markers included: a broker answers a producer
/// before they are written.
async fn until_stable(fixture: &Fixture, topic: &str, end: i64) {
    let (admin, partition) = (&fixture.ports.admin, partition(topic, 0));
    crate::fixture::eventually("the markers are written", || async {
        admin.offset(partition.clone(), OffsetSpec::Latest).await.unwrap() == end
    })
    .await;
}

/// Transactions of three producers, one within the other, with records of none of them between. Returns the values of what is
/// committed, of all, and the end of the log.
async fn interleaved(fixture: &Fixture, topic: &str) -> (Vec<String>, Vec<String>, i64) {
    let partition = partition(topic, 0);
    let mut producers = Vec::new();
    for _ in 0..3 {
        producers.push(Transactional::start(fixture, topic).await);
    }
    let (mut log, mut end) = (Vec::new(), 0);
    for round in 0..4 {
        for batch in 0..2 {
            for (which, producer) in producers.iter_mut().enumerate() {
                let values = [0, 1].map(|number| format!("{round}.{which}.{batch}.{number}"));
                producer.write(&values.each_ref().map(String::as_str)).await;
                log.extend(values.map(|value| (Some((round, which)), value)));
                let plain = 100 * round + 10 * batch + which as i32;
                fixture.produce(&partition, records(plain..plain + 1)).await;
                log.push((None, plain.to_string()));
                end += 3;
            }
        }
        // They end in another order than they began.
        for which in [1, 2, 0] {
            let producer = &producers[which];
            if is_committed(round, which) {
                producer.commit().await
            } else {
                producer.abort().await
            }
            end += 1;
        }
    }
    until_stable(fixture, topic, end).await;
    let is_wanted = |of: &Option<(i32, usize)>| of.is_none_or(|(round, which)| is_committed(round, which));
    let committed = log.iter().filter(|(of, _)| is_wanted(of)).map(|(_, value)| value.clone()).collect();
    (committed, log.into_iter().map(|(_, value)| value).collect(), end)
}

fn is_committed(round: i32, which: usize) -> bool {
    (round as usize + which).is_multiple_of(2)
}

pub(crate) async fn interleaved_transactions_end_each_by_itself(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let (committed, all, end) = interleaved(fixture, &topic).await;
    assert!(committed.len() < all.len());
    // All in one answer, one batch in each, and from the middle.
    for max_bytes in [1 << 20, 1] {
        let ports = fixture.with(|settings| {
            settings.fetch_max_bytes = max_bytes;
            // Who begins to read waits for the answer to what was asked for before.
            settings.fetch_max_wait = Duration::from_millis(50);
        });
        let ports = ports.await;
        let reading = fixture.read_over(&ports, &partition(&topic, 0), 0, 64 << 20).await;
        assert_eq!(texts(&reading.records_until(end).await), committed);
        assert_nothing_stopped(&reading);
        for from in (0..end).step_by(7) {
            let reading = fixture.read_over(&ports, &partition(&topic, 0), from, 64 << 20).await;
            let found = texts(&reading.records_until(end).await);
            assert!(committed.ends_with(&found), "from {from}: {found:?}");
        }
    }
    let uncommitted = fixture.with(|settings| settings.read_isolation = ReadIsolation::ReadUncommitted).await;
    let reading = fixture.read_over(&uncommitted, &partition(&topic, 0), 0, 64 << 20).await;
    assert_eq!(texts(&reading.records_until(end).await), all);
}

pub(crate) async fn aborted_records_are_delivered_as_documented(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let (_, all, end) = interleaved(fixture, &topic).await;
    let reading = fixture.read(&partition(&topic, 0), 0).await;
    assert_eq!(texts(&reading.records_until(end).await), all);
    assert_nothing_stopped(&reading);
}

pub(crate) async fn a_hanging_transaction_holds_up_only_who_reads_committed_records(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..1)).await;
    let mut hanging = Transactional::start(fixture, &topic).await;
    hanging.write(&["hanging"]).await;
    // Others come and go meanwhile.
    let mut other = Transactional::start(fixture, &topic).await;
    other.write(&["other"]).await;
    other.commit().await;
    fixture.produce(&partition, records(1..2)).await;

    let committed = fixture.read(&partition, 0).await;
    assert_eq!(committed.values(1).await, ["0"]);
    let ports = fixture.with(|settings| settings.read_isolation = ReadIsolation::ReadUncommitted).await;
    let uncommitted = fixture.read_over(&ports, &partition, 0, 1 << 20).await;
    assert_eq!(uncommitted.values(4).await, ["0", "hanging", "other", "1"]);
    fixture.produce(&partition, records(2..3)).await;
    assert_eq!(uncommitted.values(1).await, ["2"]);
    assert!(committed.feed.front().is_none(), "what follows the hanging one was read");

    hanging.abort().await;
    assert_eq!(committed.values(3).await, ["other", "1", "2"]);
    fixture.produce(&partition, records(3..4)).await;
    assert_eq!(committed.values(1).await, ["3"]);
    assert_eq!(uncommitted.values(1).await, ["3"]);
    assert_nothing_stopped(&committed);
    assert_nothing_stopped(&uncommitted);
}

pub(crate) async fn what_a_fenced_producer_leaves_is_not_read(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let mut fenced = Transactional::start(fixture, &topic).await;
    fenced.write(&["committed"]).await;
    fenced.commit().await;
    fenced.write(&["abandoned"]).await;
    let mut successor = fenced.successor().await;
    successor.write(&["by the successor"]).await;
    let refusal = fenced.refusal(&["too late"]).await;
    let expected = [ResponseError::InvalidProducerEpoch, ResponseError::ProducerFenced];
    assert!(refusal.is_some_and(|error| expected.contains(&error)), "{refusal:?}");
    successor.commit().await;
    fixture.produce(&partition, records(0..1)).await;
    let reading = fixture.read(&partition, 0).await;
    assert_eq!(reading.values(3).await, ["committed", "by the successor", "0"]);
    assert_nothing_stopped(&reading);
}
