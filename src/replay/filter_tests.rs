//! Filters: each condition by itself, all together, and a glance at a record against reading all of it.

use bytes::Bytes;
use proptest::prelude::*;
use uuid::Uuid;

use super::entry::{Entry, State};
use super::facts::Facts;
use super::filter::{Filter, States};
use super::letter::DeadLetter;
use super::marks::Index;
use super::sight::{Sight, apart, read};
use crate::dead_letter::{DeadLetterContext, DeadLetterFormat, Profile, Rung, fingerprint, names};
use crate::policy::Category;
use crate::record::{Header, HeaderRef, Record, RecordBatchBuilder, TopicPartition};

const TIME: i64 = 1_700_000_000_000;

fn record(topic: &str, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header]) -> Record {
    let mut batch = RecordBatchBuilder::new(TopicPartition::new(topic, 3), Some(Uuid::from_u128(7)));
    let headers = headers.iter().map(|it| HeaderRef { name: &it.name, value: it.value.as_deref() });
    batch.push(41, TIME, key, value, headers);
    batch.build(42).get(0).unwrap()
}

/// The record of a dead letter as we write it.
fn written(source: &Record, category: Category, message: &str, format: &DeadLetterFormat, rung: Rung) -> Record {
    let context = DeadLetterContext {
        source: source.id(),
        source_timestamp: Some(source.timestamp()),
        group: Some("fulfilment".into()),
        attempts: Some(1),
        category,
        error_type: "E".to_owned(),
        message: message.to_owned(),
        backtrace: Some("a\nb".to_owned()),
        first_failed_at: Some(TIME),
        last_failed_at: Some(TIME),
        consumer_id: None,
        consumer_version: None,
        replay_count: 2,
        fingerprint: fingerprint(category, "E", message, None),
    };
    let written = context.encode(source, format, rung, "orders.dlq");
    record("orders.dlq", written.key.as_deref(), written.value.as_deref(), &written.headers)
}

fn entry(record: &Record) -> Entry {
    read(record, State::Unresolved)
}

fn example() -> Entry {
    let headers = [Header::new("trace", "1"), Header::null("empty")];
    let source = record("orders", Some(b"shop-1"), Some(b"{}"), &headers);
    entry(&written(&source, Category::Poison, "Boom in straße 4", &DeadLetterFormat::default(), Rung::Full))
}

#[test]
fn each_condition_fits_what_it_says_and_nothing_else() {
    let entry = example();
    let fits = [
        Filter::new(),
        Filter::new().category(Category::Poison),
        Filter::new().category(Category::Unknown).category(Category::Poison),
        Filter::new().error_type("E"),
        Filter::new().fingerprint(&entry.letter.fingerprint[..6]),
        Filter::new().source_topic("orders"),
        Filter::new().source_partition(3),
        Filter::new().source_offsets(41..42),
        Filter::new().key("shop-1"),
        Filter::new().since(TIME).until(TIME + 1),
        Filter::new().header("trace"),
        Filter::new().header("empty"),
        Filter::new().header_value("trace", "1"),
        Filter::new().text("boom IN straße"),
        Filter::all(),
    ];
    for filter in fits {
        assert!(filter.matches(&entry), "{filter:?}");
    }
    let others = [
        Filter::new().category(Category::Unknown),
        Filter::new().error_type("e"),
        Filter::new().fingerprint(format!("{}0", entry.letter.fingerprint)),
        Filter::new().source_topic("orders.dlq"),
        Filter::new().source_partition(0),
        Filter::new().source_offsets(42..50),
        Filter::new().key("shop"),
        Filter::new().since(TIME + 1),
        Filter::new().until(TIME),
        Filter::new().header("tracé"),
        Filter::new().header_value("trace", ""),
        Filter::new().header_value("empty", ""),
        // It is the convention's, not the original's.
        Filter::new().header(names::CATEGORY),
        Filter::new().text("boom at"),
        Filter::new().states(States::Resolved),
    ];
    for filter in others {
        assert!(!filter.matches(&entry), "{filter:?}");
    }
}

#[test]
fn what_became_of_it_decides_as_well() {
    let state = |state| Entry { state, ..example() };
    let discarded = state(State::Discarded { at: 1, reason: "old".to_owned() });
    let failed = state(State::Failed { at: 1, reason: "refused".to_owned() });
    assert!(Filter::new().matches(&failed) && !Filter::new().matches(&discarded));
    let resolved = Filter::new().states(States::Resolved);
    assert!(!resolved.matches(&failed) && resolved.matches(&discarded));
    assert!(Filter::all().matches(&failed) && Filter::all().matches(&discarded));
}

#[test]
fn what_we_write_is_told_by_a_glance() {
    let source = record("orders", None, Some(b"x"), &[Header::new("a", "1")]);
    let format = DeadLetterFormat::default().profile(Profile::Plain);
    let written = |format: &DeadLetterFormat| written(&source, Category::Unknown, "m", format, Rung::Full);
    assert!(Facts::glance(&written(&DeadLetterFormat::default())).is_some());
    assert!(Facts::glance(&written(&format)).is_none(), "anybody may use these names");
    assert!(Facts::glance(&written(&format.profile(Profile::Envelope))).is_none());
    assert!(Facts::glance(&source).is_none());
}

/// A condition, or the one that fits the entry.
fn perhaps<T: Clone + std::fmt::Debug + 'static>(
    fitting: Option<T>,
    other: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    let fitting = fitting.map_or(Just(None).boxed(), |fitting| Just(Some(fitting)).boxed());
    prop_oneof![3 => Just(None), 2 => fitting, 1 => other.prop_map(Some)].boxed()
}

fn filters(entry: &Entry) -> impl Strategy<Value = Filter> + use<> {
    let letter = &entry.letter;
    let categories = prop_oneof![
        2 => Just(vec![]),
        2 => Just(vec![letter.category]),
        1 => Just(vec![Category::Transient, Category::Poison])
    ];
    let texts = (
        perhaps(Some(letter.error_type.clone()), "\\PC{0,2}"),
        perhaps(Some(letter.fingerprint.clone()), "[0-9a-f]{0,2}"),
        perhaps(letter.origin.topic.as_deref().map(str::to_owned), "[a-z]{1,2}"),
        perhaps(Some(letter.message.to_uppercase()), "\\PC{0,2}"),
    );
    let numbers = (
        perhaps(letter.origin.partition, 0..5),
        perhaps(letter.origin.offset.map(|offset| offset..offset + 1), Just(0..1_000)),
        perhaps(Some(TIME), TIME - 1..TIME + 2),
        perhaps(Some(TIME + 1), TIME - 1..TIME + 2),
    );
    let header = letter.headers.first().and_then(|header| {
        let name = String::from_utf8(header.name.to_vec()).ok()?;
        Some((name, header.value.clone()))
    });
    let other = ("[a-c]{1,2}|bezoar.category|error", prop::option::of("[0-9]{0,1}".prop_map(Bytes::from)));
    let bytes = (perhaps(letter.key.clone(), "[a-c]{0,1}".prop_map(Bytes::from)), perhaps(header, other));
    (categories, texts, numbers, bytes).prop_map(|(categories, texts, numbers, (key, header))| {
        let (error_type, fingerprint, source_topic, text) = texts;
        let (source_partition, source_offsets, since, until) = numbers;
        let states = States::Unresolved;
        Filter {
            categories,
            error_type,
            fingerprint,
            source_topic,
            source_partition,
            source_offsets,
            key,
            since,
            until,
            header,
            text,
            states,
        }
    })
}

fn headers() -> impl Strategy<Value = Vec<Header>> {
    let name = prop_oneof![
        4 => "[a-c]{1,2}".prop_map(Bytes::from),
        1 => prop::sample::select(vec![
            names::CATEGORY, names::MESSAGE, names::OFFSET, names::TOPIC, names::FINGERPRINT, names::PLAIN_ERROR,
            names::PLAIN_SOURCE, "kafka_dlt-original-topic", "__connect.errors.topic", "bezoar.other"
        ]).prop_map(Bytes::from),
        1 => prop::collection::vec(any::<u8>(), 0..3).prop_map(Bytes::from),
    ];
    let value = prop_oneof![
        Just(None),
        "[0-9]{0,2}|poison|\u{e4}".prop_map(|text| Some(Bytes::from(text))),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(|bytes| Some(Bytes::from(bytes)))
    ];
    prop::collection::vec((name, value).prop_map(|(name, value)| Header { name, value }), 0..6)
}

/// Records of a dead-letter topic: as we write them, with odd headers before and behind, and others.
fn records() -> impl Strategy<Value = Record> {
    let content = || prop::option::of("[a-c{}\"]{0,4}".prop_map(Bytes::from));
    let format = prop_oneof![
        3 => Just(DeadLetterFormat::default()),
        1 => Just(DeadLetterFormat::default().profile(Profile::Plain)),
        1 => Just(DeadLetterFormat::default().profile(Profile::Envelope)),
    ];
    let rung = prop_oneof![3 => Just(Rung::Full), 1 => Just(Rung::KeyAndContext), 1 => Just(Rung::ContextOnly)];
    let how = (format, rung, 0..Category::ALL.len(), "\\PC{0,12}");
    (content(), content(), headers(), headers(), how, 0..8).prop_map(|(key, value, before, behind, how, kind)| {
        let (format, rung, category, message) = how;
        let source = record("orders", key.as_deref(), value.as_deref(), &before);
        if kind == 0 {
            return source;
        }
        let written = written(&source, Category::ALL[category], &message, &format, rung);
        if kind < 5 {
            return written;
        }
        let all = [written.headers().to_vec(), behind].concat();
        record("orders.dlq", written.key(), written.value(), &all)
    })
}

proptest! {
    #[test]
    fn a_glance_decides_as_reading_all_of_it_does(
        (record, filter) in records().prop_flat_map(|record| (Just(record.clone()), filters(&entry(&record))))
    ) {
        let marks = Index::default();
        let sight = Sight::new(&record, &marks);
        prop_assert_eq!(sight.fits(&filter), filter.matches(&entry(&record)));
        let letter = DeadLetter::from_record(&record);
        prop_assert_eq!(sight.facts(), Facts::of(&letter));
    }

    #[test]
    fn conditions_add_up((entry, one, other) in records().prop_flat_map(|record| {
        let entry = entry(&record);
        (Just(entry.clone()), filters(&entry), filters(&entry))
    })) {
        // Each condition of the one that the other leaves open.
        let both = Filter {
            error_type: one.error_type.clone().or(other.error_type.clone()),
            source_topic: one.source_topic.clone().or(other.source_topic.clone()),
            key: one.key.clone().or(other.key.clone()),
            text: one.text.clone().or(other.text.clone()),
            ..one.clone()
        };
        let rest = Filter {
            error_type: other.error_type.filter(|_| one.error_type.is_none()),
            source_topic: other.source_topic.filter(|_| one.source_topic.is_none()),
            key: other.key.filter(|_| one.key.is_none()),
            text: other.text.filter(|_| one.text.is_none()),
            ..Filter::new()
        };
        prop_assert_eq!(both.matches(&entry), one.matches(&entry) && rest.matches(&entry));
    }

    #[test]
    fn a_copy_is_the_same_record(record in records()) {
        let copy = apart(&record);
        prop_assert_eq!(copy.id(), record.id());
        prop_assert_eq!(copy.timestamp(), record.timestamp());
        prop_assert_eq!((copy.key(), copy.value()), (record.key(), record.value()));
        prop_assert_eq!(copy.headers().to_vec(), record.headers().to_vec());
    }
}
