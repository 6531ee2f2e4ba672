use proptest::prelude::*;

use super::*;
use crate::record::Header;

#[test]
fn uncompressed_batches_become_one_that_borrows() {
    let bytes = log(&[(10, batch(3)), (13, batch(2)), (15, batch(1))]);
    let decoded = decode_from(&bytes, 10);
    assert_eq!(decoded.batches.len(), 1);
    assert_eq!(offsets(&decoded), [10, 11, 12, 13, 14, 15]);
    assert_eq!((decoded.next_offset, decoded.leader_epoch, decoded.damage.clone()), (16, Some(5), None));
    let answer = bytes.as_ptr_range();
    for record in records(&decoded) {
        assert!(answer.contains(&record.value().unwrap().as_ptr()), "a value was copied");
    }
}

#[test]
fn another_leader_epoch_begins_another_batch() {
    let mut bytes = Vec::new();
    for (base_offset, epoch, records) in [(10, 5, 3), (13, 5, 2), (15, 6, 1), (16, 8, 0), (17, 8, 2)] {
        let mut one = batch(records).build().to_vec();
        BatchHeader::check(&one).unwrap().set_base(&mut one, base_offset, epoch);
        bytes.extend(one);
    }
    let decoded = decode_from(&Bytes::from(bytes), 10);
    let told: Vec<_> =
        decoded.batches.iter().map(|batch| (batch.leader_epoch(), batch.len(), batch.next_offset())).collect();
    assert_eq!(told, [(Some(5), 5, 15), (Some(6), 1, 16), (Some(8), 2, 19)]);
    assert_eq!((decoded.next_offset, decoded.leader_epoch), (19, Some(8)));
}

#[test]
fn copies_hold_nothing_of_the_answer() {
    let bytes = log(&[(10, batch(3)), (13, batch(2))]);
    let decoded = decode_with(&bytes, |decoding| (decoding.from, decoding.share) = (10, Share { of: usize::MAX }));
    let answer = bytes.as_ptr_range();
    for record in records(&decoded) {
        assert!(!answer.contains(&record.value().unwrap().as_ptr()), "a value still belongs to the answer");
    }
    assert_eq!(offsets(&decoded), [10, 11, 12, 13, 14]);
    assert!(bytes.is_unique());
}

#[test]
fn a_small_part_of_a_frame_does_not_hold_it_in_memory() {
    let bytes = log(&[(10, batch(3)), (13, batch(2))]);
    for (of, slices) in [(4 * bytes.len() - 400, true), (5 * bytes.len(), false)] {
        let decoded = decode_with(&bytes, |decoding| (decoding.from, decoding.share) = (10, Share { of }));
        assert_eq!((offsets(&decoded).len(), !bytes.is_unique()), (5, slices), "of a frame of {of} bytes");
    }
}

#[test]
fn no_more_is_decompressed_than_there_is_room_for_and_one_batch_at_least() {
    let compressed = || batch(10).compression(Compression::Zstd);
    let bytes = log(&[(0, compressed()), (10, compressed()), (20, compressed())]);
    for (room, records) in [(0, 10), (1_500, 20), (1 << 20, 30)] {
        let decoded = decode_with(&bytes, |decoding| decoding.room = room);
        assert_eq!((offsets(&decoded).len(), decoded.next_offset), (records, records as i64), "room for {room}");
        assert_eq!(decoded.damage, None);
    }
}

#[test]
fn what_was_not_asked_for_is_dropped_and_not_paid_for() {
    let bytes = log(&[(0, batch(50)), (50, batch(50)), (100, batch(2))]);
    let decoded = decode_from(&bytes, 98);
    assert_eq!(offsets(&decoded), [98, 99, 100, 101]);
    assert_eq!(records(&decoded)[0].key(), Some(&b"key48"[..]));
    assert_eq!(records(&decoded)[2].key(), Some(&b"key0"[..]));
    assert!(decoded.batches[0].cost() < 1000, "{} bytes for four records", decoded.batches[0].cost());
    let decoded = decode_from(&bytes, 102);
    assert_eq!((decoded.batches.len(), decoded.next_offset), (0, 102));
}

#[test]
fn each_compressed_batch_has_a_buffer_of_its_own() {
    for compression in &COMPRESSIONS[1..] {
        let compressed = |count| batch(count).compression(*compression);
        let bytes = log(&[(0, batch(2)), (2, compressed(3)), (5, compressed(2)), (7, batch(1))]);
        let decoded = decode_from(&bytes, 1);
        let lengths: Vec<_> = decoded.batches.iter().map(RecordBatch::len).collect();
        assert_eq!(lengths, [1, 3, 2, 1], "{compression:?}");
        assert_eq!(offsets(&decoded), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(decoded.batches.iter().map(RecordBatch::next_offset).collect::<Vec<_>>(), [2, 5, 7, 8]);
    }
}

#[test]
fn the_offset_moves_by_the_header_past_what_compaction_removed() {
    let sparse = BatchWriter::new().record_at(2, Some(b"k"), None, Vec::new()).last_offset_delta(4);
    let emptied = BatchWriter::new().last_offset_delta(9);
    let bytes = log(&[(10, emptied.clone()), (20, sparse), (30, emptied)]);
    let decoded = decode_from(&bytes, 10);
    assert_eq!(offsets(&decoded), [22]);
    assert_eq!((decoded.next_offset, decoded.batches.len()), (40, 1));
    assert_eq!(decoded.batches[0].next_offset(), 40);
    // Nothing at all in the middle of a compacted batch is a batch without records.
    let decoded = decode_from(&bytes.slice(..61), 15);
    assert_eq!((decoded.next_offset, decoded.batches.len()), (20, 1));
    assert!(decoded.batches[0].is_empty());
}

#[test]
fn a_batch_that_is_cut_off_is_left_for_the_next_answer() {
    let bytes = log(&[(0, batch(3)), (3, batch(3))]);
    let first = bytes.len() / 2;
    for end in first..bytes.len() {
        let decoded = decode_from(&bytes.slice(..end), 0);
        assert_eq!((decoded.next_offset, decoded.damage), (3, None), "cut at {end}");
    }
}

#[test]
fn timestamps_are_the_producers_the_brokers_or_relative_to_a_delete_horizon() {
    let written =
        BatchWriter::new().timestamp(-7).record(None, None, vec![]).timestamp(i64::MAX).record(None, None, vec![]);
    let stamps = |bytes: &Bytes| records(&decode_from(bytes, 0)).iter().map(Record::timestamp).collect::<Vec<_>>();
    assert_eq!(stamps(&log(&[(0, written.clone())])), [-7, i64::MAX]);

    let mut appended = written.build().to_vec();
    BatchHeader::check(&appended).unwrap().set_append_time(&mut appended, 1000);
    assert_eq!(stamps(&appended.into()), [1000, 1000]);

    // Compaction puts the horizon in place of the base and makes the deltas relative to it: -950 and -900 here.
    let mut horizon = BatchWriter::new()
        .timestamp(1000)
        .record(None, None, vec![])
        .timestamp(50)
        .record(None, None, vec![])
        .timestamp(100)
        .record(None, None, vec![])
        .attributes(1 << 6)
        .build()
        .to_vec();
    horizon[35..43].copy_from_slice(&100i64.to_be_bytes());
    repair(&mut horizon);
    assert_eq!(stamps(&horizon.into())[1..], [50, 100]);
}

#[test]
fn null_and_empty_stay_apart_and_headers_as_they_were() {
    let headers = vec![Header::null("b"), Header::new("a", ""), Header::new("b", "2"), Header::null("")];
    let written = BatchWriter::new().record(None, Some(b""), headers.clone()).record(Some(b""), None, vec![]);
    for compression in COMPRESSIONS {
        let read = records(&decode_from(&log(&[(0, written.clone().compression(compression))]), 0));
        assert_eq!((read[0].key(), read[0].value()), (None, Some(&b""[..])));
        assert_eq!((read[1].key(), read[1].value()), (Some(&b""[..]), None));
        assert_eq!(read[0].headers().to_vec(), headers);
        assert!(read[1].headers().is_empty());
    }
}

#[test]
fn the_cost_is_what_is_held() {
    let bytes = log(&[(0, batch(1000))]);
    let decoded = decode_from(&bytes, 0);
    let cost = decoded.batches[0].cost();
    assert!((bytes.len()..bytes.len() + 1000 * 40).contains(&cost), "{cost} for {} bytes", bytes.len());
    for compression in &COMPRESSIONS[1..] {
        let compressed = log(&[(0, batch(1000).compression(*compression))]);
        let cost_compressed = decode_from(&compressed, 0).batches[0].cost();
        let most = cost + bytes.len() / 4;
        assert!((cost - 1000..=most).contains(&cost_compressed), "{compression:?}: {cost_compressed}, not {cost}");
    }
}

proptest! {
    #[test]
    fn anything_is_decoded_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), from in 0i64..1000) {
        let bytes = Bytes::from(bytes);
        let decoded = decode_from(&bytes, from);
        prop_assert!(decoded.next_offset >= from);
        prop_assert!(scan(&bytes, from).bytes <= bytes.len());
    }

    /// Bytes changed behind the CRC's back: each answer is consistent, whatever they say.
    #[test]
    fn changed_batches_are_decoded_or_refused(
        changes in prop::collection::vec((0usize..2000, any::<u8>()), 1..6),
        codec in 0usize..5,
        from in 0i64..12,
        repaired: bool,
    ) {
        let mut first = log(&[(0, batch(6).compression(COMPRESSIONS[codec]))]).to_vec();
        for (at, byte) in changes {
            let at = at % first.len();
            first[at] = byte;
        }
        if repaired {
            let length = first.len() as u32 - 12;
            first[8..12].copy_from_slice(&length.to_be_bytes());
            first[16] = 2;
            repair(&mut first);
        }
        let bytes = Bytes::from([first, log(&[(6, batch(6))]).to_vec()].concat());
        let decoded = decode_from(&bytes, from);
        let offsets = offsets(&decoded);
        prop_assert!(offsets.is_sorted_by(|left, right| left < right));
        prop_assert!(offsets.iter().all(|offset| (from..decoded.next_offset).contains(offset)));
        prop_assert!(decoded.batches.is_sorted_by_key(RecordBatch::next_offset));
        for record in records(&decoded) {
            prop_assert!(record.headers().len() <= bytes.len());
        }
        match decoded.damage {
            None => prop_assert_eq!(scan(&bytes, from).next_offset, decoded.next_offset),
            Some(damage) => {
                prop_assert_eq!(damage.offset, decoded.next_offset);
                prop_assert!(damage.next_offset.is_none_or(|next| next > damage.offset));
            }
        }
    }
}
