//! Logs under the cleaner: only the last record of each key stays, at the offset that it had.

use std::collections::BTreeMap;
use std::time::Duration;

use bezoar::broker::{NewTopic, OffsetSpec};
use bezoar::record::{ProducerRecord, TopicPartition};

use crate::fixture::{Fixture, Owned, PATIENCE, partition, unique};
use crate::transactional::Transactional;

const KEYS: i32 = 10;
const ROUNDS: i32 = 30;

pub(crate) async fn a_compacted_log_is_read_to_its_end_with_the_last_record_of_each_key(fixture: &Fixture) {
    let partition = compacted_topic(fixture).await;
    for round in 0..ROUNDS {
        let record = |key| keyed(&format!("k{key}"), &format!("{key} in round {round}"));
        fixture.produce(&partition, (0..KEYS).map(record).collect()).await;
    }
    let survivors = compacted(fixture, &partition).await;
    let values: BTreeMap<_, _> = of_keys(&survivors).map(|record| (text(&record.key), text(&record.value))).collect();
    let last = |key| (format!("k{key}"), format!("{key} in round {}", ROUNDS - 1));
    assert_eq!(values, (0..KEYS).map(last).collect());
    assert!(survivors.is_sorted_by(|one, next| one.offset < next.offset), "{survivors:?}");

    // A reader may stand where there is nothing any more.
    for from in [1, 5, 137, 289, 290] {
        let found = read(fixture, &partition, from).await;
        let expected: Vec<_> = survivors.iter().filter(|record| record.offset >= from).cloned().collect();
        assert_eq!(found, expected, "from {from}");
    }
}

pub(crate) async fn a_compacted_log_of_transactions_is_read_to_its_end(fixture: &Fixture) {
    let partition = compacted_topic(fixture).await;
    let mut producer = Transactional::start(fixture, partition.topic()).await;
    for round in 0..10 {
        producer.write(&[&format!("in round {round}")]).await;
        // The last one is not committed: the one before it is what remains.
        if round % 2 == 0 {
            producer.commit().await
        } else {
            producer.abort().await
        }
        let record = |key| keyed(&format!("k{key}"), &format!("{key} in round {round}"));
        fixture.produce(&partition, (0..KEYS).map(record).collect()).await;
    }
    let survivors = compacted(fixture, &partition).await;
    assert!(of_keys(&survivors).all(|record| text(&record.value).ends_with("in round 9")), "{survivors:?}");
    let within = survivors.iter().filter(|record| text(&record.key) == Transactional::KEY);
    assert_eq!(within.map(|record| text(&record.value)).collect::<Vec<_>>(), ["in round 8"]);
}

async fn compacted_topic(fixture: &Fixture) -> TopicPartition {
    let name = unique("compacted");
    let mut topic = NewTopic::new(&name, 1).replication(1).config("cleanup.policy", "compact");
    if fixture.embedded.is_none() {
        // So that the cleaner, which leaves the newest segment alone, comes within seconds.
        topic = topic
            .config("segment.ms", "100")
            .config("min.cleanable.dirty.ratio", "0.0001")
            .config("max.compaction.lag.ms", "100")
            .config("delete.retention.ms", "100");
    }
    fixture.ports.admin.create_topic(topic).await.unwrap();
    partition(&name, 0)
}

fn keyed(key: &str, value: &str) -> ProducerRecord {
    ProducerRecord::to("").key(key.to_owned()).value(value.to_owned())
}

fn of_keys(records: &[Owned]) -> impl Iterator<Item = &Owned> {
    records.iter().filter(|record| text(&record.key).starts_with('k'))
}

fn text(bytes: &Option<Vec<u8>>) -> String {
    String::from_utf8(bytes.clone().unwrap()).unwrap()
}

/// Lets the cleaner run, and returns what it leaves.
async fn compacted(fixture: &Fixture, partition: &TopicPartition) -> Vec<Owned> {
    if let Some(broker) = &fixture.embedded {
        broker.compact(partition.topic(), 0).unwrap();
        return read(fixture, partition, 0).await;
    }
    let cleaning = async {
        loop {
            // Something new, so that the segment with what is to be cleaned is not the newest one.
            fixture.produce(partition, vec![keyed("tick", "tock")]).await;
            let left = read(fixture, partition, 0).await;
            if of_keys(&left).count() == KEYS as usize {
                return read_when_settled(fixture, partition, left).await;
            }
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    };
    tokio::time::timeout(PATIENCE, cleaning).await.expect("the cleaner comes")
}

/// Reads until twice the same is there: the cleaner may still be at the records that made it come.
async fn read_when_settled(fixture: &Fixture, partition: &TopicPartition, mut before: Vec<Owned>) -> Vec<Owned> {
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let now = read(fixture, partition, 0).await;
        if now == before {
            return now;
        }
        before = now;
    }
}

/// All from an offset to the end of the log, which must be reached.
async fn read(fixture: &Fixture, partition: &TopicPartition, from: i64) -> Vec<Owned> {
    let end = fixture.ports.admin.offset(partition.clone(), OffsetSpec::Latest).await.unwrap();
    let reading = fixture.read(partition, from).await;
    let records = reading.records_until(end).await;
    assert_eq!(reading.problems(), []);
    records
}
