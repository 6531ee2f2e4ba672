//! What is kept of many dead letters, against what keeping all of them would give.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::duplicates::Duplicates;
use super::entry::{Entry, State};
use super::groups::{Groups, Sorter};
use super::listing::First;
use super::marks::Index;
use super::newest::{Newest, Parts, Tail};
use super::reading::Span;
use super::scan::Collect;
use super::sight::{Sight, cost, read};
use crate::dead_letter::names;
use crate::record::{HeaderRef, Record, RecordBatchBuilder, TopicPartition};

/// A record of fault `fault` that was published `time` to a partition; the value makes it as large as is wanted.
fn record(partition: i32, offset: i64, time: i64, fault: u8, size: usize) -> Record {
    let fault = fault.to_string();
    let headers = [
        (names::TOPIC, "orders"),
        (names::PARTITION, "0"),
        (names::OFFSET, "1"),
        (names::CATEGORY, "poison"),
        (names::ERROR_TYPE, "E"),
        (names::FINGERPRINT, &fault),
    ]
    .map(|(name, value)| HeaderRef { name: name.as_bytes(), value: Some(value.as_bytes()) });
    let mut batch = RecordBatchBuilder::new(TopicPartition::new("orders.dlq", partition), None);
    batch.push(offset, time, None, Some(&vec![b'x'; size]), headers.into_iter());
    batch.build(offset + 1).get(0).unwrap()
}

fn feed<'a>(collector: &mut impl Collect, records: impl IntoIterator<Item = &'a Record>, piece: usize) {
    let marks = Index::default();
    for (number, record) in records.into_iter().enumerate() {
        assert_eq!(collector.take(Sight::new(record, &marks)), ControlFlow::Continue(()));
        if number % piece == 0 {
            collector.end_piece();
        }
    }
    collector.end_piece();
}

/// Dead letters of some partitions, in an order in which they may be read: each partition's in its own.
fn dead_letters() -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec((0..4i32, 0..20i64, 0..6u8, 0..40usize), 0..60).prop_map(|letters| {
        let mut next = HashMap::new();
        let made = letters.into_iter().map(|(partition, time, fault, size)| {
            let offset: &mut i64 = next.entry(partition).or_default();
            *offset += 1;
            record(partition, *offset, time, fault, size)
        });
        made.collect()
    })
}

fn places<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<(i32, i64)> {
    entries.into_iter().map(|entry| (entry.at.partition.partition(), entry.at.offset)).collect()
}

proptest! {
    #[test]
    fn the_first_are_those_of_all_in_order(letters in dead_letters(), limit in 0..70usize, other in any::<u64>()) {
        let mut latest = BTreeMap::new();
        let mut all: Vec<_> = letters.iter().map(|record| {
            let partition = record.partition().partition();
            let time = latest.entry(partition).or_insert(i64::MIN);
            *time = record.timestamp().max(*time);
            (*time, partition, record.offset())
        }).collect();
        all.sort_unstable();
        let expected: Vec<_> = all.iter().take(limit).map(|(_, partition, offset)| (*partition, *offset)).collect();
        let mut first = First::new(limit);
        feed(&mut first, &letters, 5);
        let (entries, matched) = first.into_entries();
        prop_assert_eq!((places(&entries), matched), (expected, letters.len() as u64));

        // Partitions read in another order, each in its own.
        let mut turned: Vec<_> = letters.iter().collect();
        turned.sort_by_key(|record| (record.partition().partition() as u64 ^ other) % 5);
        let mut again = First::new(limit);
        feed(&mut again, turned, 3);
        prop_assert_eq!(again.into_entries(), (entries, matched));
    }

    #[test]
    fn the_newest_are_found_from_the_end(letters in dead_letters(), limit in 0..70usize, step in 1..9i64) {
        let mut earliest = BTreeMap::new();
        let mut all: Vec<_> = letters.iter().rev().map(|record| {
            let partition = record.partition().partition();
            let time = earliest.entry(partition).or_insert(i64::MAX);
            *time = record.timestamp().min(*time);
            (*time, partition, record.offset())
        }).collect();
        all.sort_unstable();
        let expected: Vec<_> = all.iter().rev().take(limit).map(|(_, partition, offset)| (*partition, *offset)).collect();
        let mut newest = Newest::new(limit);
        let mut tails: Vec<_> = (0..4).map(|number| {
            let of_it = letters.iter().filter(|record| record.partition().partition() == number).count();
            let partition = TopicPartition::new("orders.dlq", number);
            let rest = Span { partition, topic_id: None, start: 0, end: of_it as i64 + 1 };
            let mut tail = Tail::new(0, rest);
            tail.step = step;
            tail
        }).collect();
        while let Some(tail) = tails.iter_mut().find(|tail| newest.wants(tail)) {
            let Span { partition, start, end, .. } = tail.cut();
            let read = letters.iter().filter(|it| *it.partition() == partition && (start..end).contains(&it.offset()));
            let mut parts = Parts::new(limit);
            feed(&mut parts, read, 5);
            newest.take(tail, parts.of(partition.partition()));
        }
        prop_assert_eq!(places(&newest.into_entries()), expected);
    }

    #[test]
    fn groups_count_what_there_is(letters in dead_letters(), piece in 1..10usize) {
        let mut sorter = Sorter::new(Groups::LIMIT, Groups::EXAMPLE_BYTES);
        feed(&mut sorter, &letters, piece);
        let groups = sorter.into_groups();
        let mut expected: BTreeMap<String, Vec<&Record>> = BTreeMap::new();
        for record in &letters {
            let fault = record.headers().text(names::FINGERPRINT).unwrap();
            expected.entry(fault.to_owned()).or_default().push(record);
        }
        prop_assert_eq!((groups.len(), groups.others), (expected.len(), 0));
        prop_assert!(groups.is_sorted_by_key(|group| (std::cmp::Reverse(group.count), std::cmp::Reverse(group.last_seen))));
        for group in &*groups {
            let members = &expected[&group.fingerprint];
            let last = members.iter().rev().max_by_key(|record| record.timestamp()).unwrap();
            // Of those as late the last that was read.
            let last = members.iter().rev().find(|record| record.timestamp() == last.timestamp()).unwrap();
            prop_assert_eq!(group.count, members.len() as u64);
            prop_assert_eq!(group.first_seen, members.iter().map(|record| record.timestamp()).min().unwrap());
            prop_assert_eq!(group.last_seen, last.timestamp());
            prop_assert_eq!(&group.example, &read(last, State::Unresolved));
        }
    }

    #[test]
    fn groups_stay_within_their_bounds(letters in dead_letters(), limit in 0..8usize, bytes in 0..1_500usize, piece in 1..10usize) {
        let mut sorter = Sorter::new(limit, bytes);
        feed(&mut sorter, &letters, piece);
        let groups = sorter.into_groups();
        let counted: u64 = groups.iter().map(|group| group.count).sum();
        prop_assert_eq!(counted + groups.others, letters.len() as u64);
        prop_assert!(groups.len() <= limit);
        let example = |entry: &Entry| {
            let same = |it: &&Record| it.id() == entry.at;
            letters.iter().find(same).map_or(usize::MAX, cost)
        };
        let used: usize = groups.iter().map(|group| group.fingerprint.len() + example(&group.example)).sum();
        prop_assert!(used <= bytes, "{} of {}", used, bytes);
    }
}

#[test]
fn a_repeated_dead_letter_is_marked_while_the_first_is_remembered() {
    let mut duplicates = Duplicates::default();
    let mut mark = |place: i64, source: i64| {
        let mut entry = read(&record(0, place, 0, 1, 0), State::Unresolved);
        entry.letter.origin.offset = (source >= 0).then_some(source);
        duplicates.mark(&mut entry);
        entry.duplicate_of.map(|first| first.offset)
    };
    assert_eq!([mark(0, 5), mark(1, 6), mark(2, 5), mark(3, 5)], [None, None, Some(0), Some(0)]);
    // Where it came from is not known.
    assert_eq!([mark(4, -1), mark(5, -1)], [None, None]);
    for place in 0..Duplicates::KNOWN as i64 - 1 {
        assert_eq!(mark(10 + place, 10 + place), None);
    }
    assert_eq!(mark(20_000, 6), Some(1), "the second is remembered, the first no longer");
    assert_eq!(mark(20_001, 5), None);
}
