use proptest::prelude::*;

use super::*;

#[test]
fn a_marker_is_stepped_over_only_after_a_fetch_of_one_byte() {
    let mut cursor = Cursor::new(7, 1 << 20);
    let mut fetches = 0;
    while cursor.offset() == 7 {
        let bytes = cursor.max_bytes(usize::MAX);
        assert_eq!(cursor.on_undecodable(bytes, true), Next::Fetch);
        fetches += 1;
        assert_eq!(cursor.offset() == 8, bytes == 1);
    }
    assert_eq!(fetches, 6);
}

#[test]
fn what_is_no_marker_stops_the_reading_after_a_fetch_of_one_byte() {
    let mut cursor = Cursor::new(7, 16);
    assert_eq!(cursor.on_undecodable(16, false), Next::Fetch);
    assert_eq!(cursor.on_undecodable(1, false), Next::Stop);
    assert_eq!(cursor.offset(), 7);
}

#[test]
fn an_open_transaction_is_no_gap() {
    let mut cursor = Cursor::new(7, 16);
    for _ in 0..3 {
        assert_eq!(cursor.on_empty(9), Next::AskStableEnd);
        cursor.set_stable_end(7);
    }
    assert_eq!(cursor.offset(), 7);
}

#[test]
fn a_transaction_that_ends_after_an_empty_answer_is_fetched_again() {
    let mut cursor = Cursor::new(7, 16);
    assert_eq!(cursor.on_empty(9), Next::AskStableEnd);
    cursor.set_stable_end(9);
    assert_eq!(cursor.offset(), 7, "the empty answer is older than the end");
    assert_eq!(cursor.on_empty(9), Next::Fetch);
    assert_eq!(cursor.offset(), 8);
}

#[test]
fn the_end_is_not_stepped_over() {
    let mut cursor = Cursor::new(7, 16);
    cursor.set_stable_end(100);
    assert_eq!(cursor.on_empty(7), Next::Fetch);
    assert_eq!(cursor.on_empty(6), Next::Doubt);
    assert_eq!(cursor.offset(), 7);
}

#[test]
fn steps_are_told_together() {
    let mut cursor = Cursor::new(0, 16);
    cursor.set_stable_end(i64::MAX);
    for _ in 1..TELL_EVERY {
        cursor.on_empty(i64::MAX);
        assert_eq!(cursor.to_tell(false), None);
    }
    assert_eq!(cursor.to_tell(true), Some(TELL_EVERY - 1));
    cursor.on_empty(i64::MAX);
    assert_eq!(cursor.to_tell(false), Some(TELL_EVERY));
    cursor.told();
    assert_eq!(cursor.to_tell(true), None);
}

/// What lies at an offset of a made-up log; each is a batch of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Data(u8),
    Marker,
    Gap,
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let entry = prop_oneof![(1..200u8).prop_map(Entry::Data), Just(Entry::Marker), Just(Entry::Gap)];
    prop::collection::vec(entry, 0..60)
}

proptest! {
    /// Whatever the log holds, each record is read once, in order, and the end is reached.
    #[test]
    fn nothing_is_skipped(log in entries(), full in 1..400i32, credit in 1..400usize) {
        let end = log.len() as i64;
        let mut cursor = Cursor::new(0, full);
        let mut read = Vec::new();
        let mut rounds = 0;
        while cursor.offset() < end {
            rounds += 1;
            prop_assert!(rounds < 10 * (end + 1), "stuck at {}", cursor.offset());
            let max_bytes = cursor.max_bytes(credit);
            // As a broker does: the first batch whole, then as many as fit. An empty batch costs a little.
            let mut taken = Vec::new();
            let mut bytes = 0;
            for (offset, entry) in log.iter().enumerate().skip(cursor.offset() as usize) {
                let size = if let Entry::Data(size) = entry { i32::from(*size) } else { 60 };
                if !taken.is_empty() && bytes + size > max_bytes {
                    break;
                }
                bytes += size;
                taken.push((offset as i64, *entry));
            }
            // As rskafka does: a marker spoils the whole, empty batches are left out.
            let next = if taken.iter().any(|(_, entry)| *entry == Entry::Marker) {
                cursor.on_undecodable(max_bytes, true)
            } else {
                let data: Vec<i64> =
                    taken.iter().filter(|(_, entry)| matches!(entry, Entry::Data(_))).map(|(offset, _)| *offset).collect();
                match data.last() {
                    Some(last) => {
                        cursor.on_records(*last);
                        read.extend(data);
                        Next::Fetch
                    }
                    None => cursor.on_empty(end),
                }
            };
            match next {
                Next::Fetch => {}
                Next::AskStableEnd => cursor.set_stable_end(end),
                Next::Doubt | Next::Stop => prop_assert!(false, "{next:?}"),
            }
        }
        let data = log.iter().enumerate().filter(|(_, entry)| matches!(entry, Entry::Data(_)));
        prop_assert_eq!(read, data.map(|(offset, _)| offset as i64).collect::<Vec<_>>());
    }
}
