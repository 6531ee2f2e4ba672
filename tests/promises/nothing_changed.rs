//! Promise 4: a dead letter carries the original key, value and headers byte for byte; own reserved names aside.

use std::sync::Arc;
use std::time::SystemTime;

use bezoar::consumer::Isolation;
use bezoar::dead_letter::{DeadLetterFormat, Profile, names};
use bezoar::record::{Header, HeaderRef, ProducerRecord, Record, RecordBatchBuilder, TopicPartition};
use bezoar::replay::DeadLetter;
use bezoar::{Consumer, Delivery, Failure, HandlerFactory, Raw, handler_fn};
use bytes::Bytes;
use proptest::prelude::*;

use crate::memory::Memory;
use crate::support::{Cluster, Journal, eventually, hasty, soon};

fn refuses(journal: &Journal) -> impl HandlerFactory<Handler: bezoar::Handler<Message = Record>> {
    let journal = journal.clone();
    handler_fn(move |_: Record, delivery: Delivery| {
        journal.note(&delivery);
        async { Err::<(), _>(Failure::validation("never")) }
    })
}

#[derive(Debug, Clone)]
struct Original {
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..30)
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    // Names that repeat, of others' conventions, of ours, and bytes that are no text.
    let known = ["trace", "", "retry_count", "error", "source", names::TOPIC, names::ID, names::REPLAY_COUNT];
    prop_oneof![prop::sample::select(known.to_vec()).prop_map(|name| name.as_bytes().to_vec()), bytes()]
}

fn originals() -> impl Strategy<Value = Vec<Original>> {
    let headers = prop::collection::vec((name(), prop::option::of(bytes())), 0..6);
    let original = (prop::option::of(bytes()), prop::option::of(bytes()), headers)
        .prop_map(|(key, value, headers)| Original { key, value, headers });
    prop::collection::vec(original, 1..30)
}

/// Has all records dead-lettered, and returns what was published.
async fn dead_letter(originals: &[Original], format: DeadLetterFormat) -> Vec<ProducerRecord> {
    let memory = Arc::new(Memory::default());
    let partition = TopicPartition::new("orders", 0);
    let mut batch = RecordBatchBuilder::new(partition.clone(), None);
    for (offset, original) in (0..).zip(originals) {
        let headers = original.headers.iter();
        let headers: Vec<_> = headers.map(|(name, value)| HeaderRef { name, value: value.as_deref() }).collect();
        batch.push(offset, 7, original.key.as_deref(), original.value.as_deref(), headers.into_iter());
    }
    let end = originals.len() as i64;
    *memory.batch.lock().unwrap() = Some(batch.build(end));
    let builder = Consumer::builder("group")
        .ports(memory.ports())
        .assignment(bezoar::consumer::Assignment::Manual)
        .policies(hasty())
        .isolation(Isolation::Lanes(1));
    let builder = builder.dead_letter_format(format).topic("orders", Raw, refuses(&Journal::default()));
    let consumer = builder.start().await.unwrap();
    eventually("all are dead-lettered", async || memory.produced.lock().unwrap().len() == originals.len()).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert_eq!(memory.committed(&partition), Some(end));
    std::mem::take(&mut memory.produced.lock().unwrap())
}

fn is_reserved(name: &[u8]) -> bool {
    name.starts_with(b"bezoar.") || name.starts_with(b"__dlq.errors.")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_dead_letter_is_the_record_byte_for_byte(originals in originals(), plain in any::<bool>()) {
        let format = DeadLetterFormat::default();
        let format = if plain { format.profile(Profile::Plain) } else { format };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let published = runtime.block_on(dead_letter(&originals, format));
        for (offset, (original, letter)) in (0..).zip(originals.iter().zip(published)) {
            prop_assert_eq!(letter.key.as_deref(), original.key.as_deref());
            prop_assert_eq!(letter.value.as_deref(), original.value.as_deref());
            // The time of publishing: an old timestamp would put it past retention at once.
            prop_assert_eq!(letter.timestamp, None);
            let ours = |name: &[u8]| is_reserved(name) || plain && (name == b"error" || name == b"source");
            let kept: Vec<(&[u8], Option<&[u8]>)> = letter
                .headers
                .iter()
                .map(|header| (&header.name[..], header.value.as_deref()))
                .filter(|(name, _)| !ours(name))
                .collect();
            let expected: Vec<(&[u8], Option<&[u8]>)> = original
                .headers
                .iter()
                .map(|(name, value)| (&name[..], value.as_deref()))
                .filter(|(name, _)| !ours(name))
                .collect();
            prop_assert_eq!(kept, expected);
            let mut own: Vec<&[u8]> = letter.headers.iter().map(|header| &header.name[..]).filter(|n| ours(n)).collect();
            let count = own.len();
            own.sort_unstable();
            own.dedup();
            prop_assert_eq!(own.len(), count, "a reserved name stands there twice");
            let read = DeadLetter::read(letter.key, letter.value, letter.headers);
            prop_assert_eq!(read.origin.to_string(), format!("orders/0/{offset}"));
        }
    }
}

/// Through a broker: null differs from empty, tombstones stay tombstones, bytes stay bytes, and the timestamp rule holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn null_empty_and_arbitrary_bytes_survive_a_broker() {
    const OLD: i64 = 1_000_000_000_000;
    let arbitrary: Vec<u8> = (0..=255).collect();
    let shapes: [Option<Bytes>; 3] = [None, Some(Bytes::new()), Some(arbitrary.clone().into())];
    for keep in [false, true] {
        let cluster = Cluster::start().await;
        let (topic, group) = (cluster.name("bytes"), cluster.name("bytes"));
        // Records this old would be past the usual retention.
        let kept = bezoar::broker::NewTopic::new(&topic, 1).replication(1).config("retention.ms", "-1");
        cluster.create(kept).await;
        let mut dead_letters = bezoar::broker::NewTopic::new(format!("{topic}.dlq"), 1).replication(1);
        dead_letters = dead_letters.config("retention.ms", "-1").config("cleanup.policy", "delete");
        cluster.create(dead_letters).await;
        let mut originals = Vec::new();
        for key in &shapes {
            for value in &shapes {
                let mut record = ProducerRecord::to(topic.as_str()).header("bytes", arbitrary.clone()).timestamp(OLD);
                record = record.header("empty", "").header("retry_count", "3");
                (record.key, record.value) = (key.clone(), value.clone());
                originals.push(record);
            }
        }
        cluster.append(&topic, 0, originals.clone()).await;
        let journal = Journal::default();
        let format = DeadLetterFormat { keep_timestamp: keep, ..DeadLetterFormat::default() };
        let builder = cluster.consumer(&group).dead_letter_format(format);
        let consumer = builder.topic(&topic, Raw, refuses(&journal)).start().await.unwrap();
        cluster.until_committed(&group, &topic, 0, 9).await;
        soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
        // A header of the simple consumer's convention is the user's: kept, and not believed.
        assert!(journal.all().iter().all(|seen| seen.attempt == 1));
        let letters = cluster.read(&format!("{topic}.dlq")).await;
        assert_eq!(letters.len(), 9);
        for (letter, original) in letters.iter().zip(&originals) {
            assert_eq!((letter.key_bytes(), letter.value_bytes()), (original.key.clone(), original.value.clone()));
            let header = |name: &str| letter.headers().last(name).unwrap().value.unwrap().to_vec();
            assert_eq!((header("bytes"), header("empty")), (arbitrary.clone(), Vec::new()));
            assert_eq!((header("retry_count"), header(names::DELIVERY_COUNT)), (b"3".to_vec(), b"1".to_vec()));
            assert_eq!(letter.headers().text(names::SOURCE_TIMESTAMP), Some("2001-09-09T01:46:40.000Z"));
            match keep {
                true => assert_eq!(letter.timestamp(), OLD),
                false => {
                    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;
                    // An hour's difference between clocks is no matter.
                    assert!((letter.timestamp() - now).abs() < 3_600_000, "{}", letter.timestamp());
                }
            }
        }
    }
}

/// A dead letter that is itself dead-lettered, and again: headers do not grow, and each own name stands there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_do_not_grow_over_many_hops() {
    let cluster = Cluster::start().await;
    let mut topic = cluster.topic("hops", 1).await;
    let original = ProducerRecord::to("").key("key").value("value").header("trace", "abc").header("retry_count", "9");
    cluster.append(&topic, 0, vec![original]).await;
    let mut counts = Vec::new();
    for hop in 0..4 {
        let (group, journal) = (cluster.name(&format!("hops-{hop}")), Journal::default());
        let builder = cluster.consumer(&group).dead_letter_format(DeadLetterFormat::default().profile(Profile::Plain));
        let consumer = builder.topic(&topic, Raw, refuses(&journal)).start().await.unwrap();
        cluster.until_committed(&group, &topic, 0, 1).await;
        soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
        let dead_letters = format!("{topic}.dlq");
        let letters = cluster.read(&dead_letters).await;
        assert_eq!((letters.len(), letters[0].key(), letters[0].value()), (1, Some(&b"key"[..]), Some(&b"value"[..])));
        let headers = letters[0].headers();
        assert_eq!((headers.text("trace"), headers.text("retry_count")), (Some("abc"), Some("9")));
        let source = format!("{topic}/0/0");
        assert_eq!((headers.text(names::TOPIC), headers.text("source")), (Some(topic.as_str()), Some(source.as_str())));
        let mut own: Vec<Header> = headers.to_vec();
        counts.push(own.len());
        own.sort_by(|a, b| a.name.cmp(&b.name));
        own.dedup_by(|a, b| a.name == b.name);
        assert_eq!(own.len(), counts[hop], "a name stands there twice");
        topic = dead_letters;
    }
    assert!(counts.windows(2).all(|pair| pair[0] == pair[1]), "headers grew from hop to hop: {counts:?}");
}
