use super::*;

/// The batch at `index` of three batches (offsets 0 to 2, 3 to 5, 6 to 8) changed by `change`, decoded from 0 on.
fn changed(index: usize, change: impl FnOnce(&mut [u8])) -> (Bytes, Decoded) {
    let bytes = log(&[(0, batch(3)), (3, batch(3)), (6, batch(3))]);
    let size = bytes.len() / 3;
    let mut bytes = bytes.to_vec();
    change(&mut bytes[index * size..(index + 1) * size]);
    let bytes = Bytes::from(bytes);
    let decoded = decode_from(&bytes, 0);
    (bytes.slice(index * size..(index + 1) * size), decoded)
}

#[track_caller]
fn assert_damage(decoded: &Decoded, kind: DamageKind, offset: i64, next_offset: Option<i64>) {
    let damage = decoded.damage.as_ref().expect("damage");
    assert_eq!((damage.kind, damage.offset, damage.next_offset), (kind, offset, next_offset), "{}", damage.reason);
    assert_eq!(decoded.next_offset, offset);
    assert_eq!(offsets(decoded), (0..offset).collect::<Vec<_>>(), "what came before it is read");
}

#[test]
fn a_wrong_byte_is_damage_of_the_batch() {
    let (raw, decoded) = changed(1, |batch| batch[100] ^= 1);
    assert_damage(&decoded, DamageKind::Corrupt, 3, Some(6));
    let damage = decoded.damage.unwrap();
    assert_eq!(damage.raw, raw);
    assert!(damage.reason.contains("CRC-32C"), "{}", damage.reason);
}

#[test]
fn the_last_batch_says_itself_how_far_it_reaches() {
    assert_damage(&changed(2, |batch| batch[100] ^= 1).1, DamageKind::Corrupt, 6, Some(9));
}

#[test]
fn a_batch_whose_range_is_wrong_ends_where_the_next_begins() {
    let far = |batch: &mut [u8]| batch[23..27].copy_from_slice(&i32::MAX.to_be_bytes());
    assert_damage(&changed(1, far).1, DamageKind::Corrupt, 3, Some(6));
    let negative = |batch: &mut [u8]| batch[23..27].copy_from_slice(&(-2i32).to_be_bytes());
    assert_damage(&changed(1, negative).1, DamageKind::Corrupt, 3, Some(6));
    assert_damage(&changed(2, negative).1, DamageKind::Corrupt, 6, None);
    let negative = |batch: &mut [u8]| {
        batch[23..27].copy_from_slice(&(-2i32).to_be_bytes());
        repair(batch);
    };
    assert_damage(&changed(1, negative).1, DamageKind::Corrupt, 3, Some(6));
    let elsewhere = |batch: &mut [u8]| batch[..8].copy_from_slice(&(-7i64).to_be_bytes());
    assert_damage(&changed(1, elsewhere).1, DamageKind::Corrupt, 3, Some(6));
    let beyond = |batch: &mut [u8]| batch[..8].copy_from_slice(&i64::MAX.to_be_bytes());
    assert_damage(&changed(2, beyond).1, DamageKind::Corrupt, 6, None);
}

#[test]
fn nothing_is_known_behind_a_length_that_is_none() {
    for length in [0, -1, i32::MIN, 48] {
        let (_, decoded) = changed(1, |batch| batch[8..12].copy_from_slice(&i32::to_be_bytes(length)));
        assert_damage(&decoded, DamageKind::Corrupt, 3, None);
    }
    // One that is too long looks like a batch that is cut off, unless there is nothing before it.
    let (_, decoded) = changed(1, |batch| batch[8..12].copy_from_slice(&i32::MAX.to_be_bytes()));
    assert_eq!((decoded.next_offset, decoded.damage), (3, None));
    let (_, decoded) = changed(0, |batch| batch[8..12].copy_from_slice(&i32::MAX.to_be_bytes()));
    assert_damage(&decoded, DamageKind::Corrupt, 0, None);
    assert_damage(&decode_from(&Bytes::from_static(&[0; 10]), 0), DamageKind::Corrupt, 0, None);
    assert_eq!(decode_from(&Bytes::new(), 7).damage, None);
}

#[test]
fn records_that_are_not_as_stated_are_damage() {
    let count = |count: i32| {
        changed(1, move |batch: &mut [u8]| {
            batch[57..61].copy_from_slice(&count.to_be_bytes());
            repair(batch);
        })
    };
    for wrong in [-1, i32::MIN, 1, 2, 4, 1000, i32::MAX] {
        assert_damage(&count(wrong).1, DamageKind::Corrupt, 3, Some(6));
    }
    // The first record's length, offset, key length and so on.
    for at in [61, 62, 65, 66, 72] {
        let (_, decoded) = changed(1, |batch| {
            batch[at] = 0xff;
            repair(batch);
        });
        assert_damage(&decoded, DamageKind::Corrupt, 3, Some(6));
    }
}

#[test]
fn offsets_outside_the_batch_or_out_of_order_are_damage() {
    let outside = BatchWriter::new().record_at(5, None, None, vec![]).last_offset_delta(4);
    let twice = BatchWriter::new().record_at(1, None, None, vec![]).record_at(1, None, None, vec![]);
    let negative = BatchWriter::new().record_at(-1, None, None, vec![]).last_offset_delta(1);
    for (wrong, next_offset) in [(outside, 5), (twice, 2), (negative, 2)] {
        assert_damage(&decode_from(&log(&[(0, wrong)]), 0), DamageKind::Corrupt, 0, Some(next_offset));
    }
}

#[test]
fn unknown_codecs_and_bytes_that_are_no_codecs_are_told_apart() {
    for codec in 1..8 {
        let decoded = decode_from(&log(&[(0, batch(2).attributes(codec))]), 0);
        let kind = if codec < 5 { DamageKind::Corrupt } else { DamageKind::UnknownCodec };
        assert_damage(&decoded, kind, 0, Some(2));
    }
}

#[test]
fn a_batch_that_decompresses_to_too_much_is_named() {
    for compression in &COMPRESSIONS[1..] {
        let bytes = log(&[(0, batch(1)), (1, batch(30).compression(*compression))]);
        let decoded = decode_with(&bytes, |decoding| decoding.max_decompressed = 1000);
        assert_damage(&decoded, DamageKind::TooLarge, 1, Some(31));
        assert!(decoded.damage.unwrap().reason.contains("max_decompressed_bytes"));
    }
}

/// A message of magic 0 or 1 without key and value.
fn message(offset: i64, magic: u8) -> Vec<u8> {
    let timestamp: &[u8] = if magic == 1 { &[0; 8] } else { &[] };
    let nulls = [0xff; 8];
    let body = [&[0, 0, 0, 0, magic, 0][..], timestamp, &nulls].concat();
    [&offset.to_be_bytes()[..], &(body.len() as u32).to_be_bytes(), &body].concat()
}

#[test]
fn old_messages_are_refused_all_at_once_with_what_to_do() {
    let old = [message(3, 0), message(4, 0), message(7, 1)].concat();
    let bytes = Bytes::from([log(&[(0, batch(3))]).to_vec(), old.clone(), log(&[(8, batch(1))]).to_vec()].concat());
    let decoded = decode_from(&bytes, 0);
    assert_damage(&decoded, DamageKind::OldFormat, 3, Some(8));
    let damage = decoded.damage.unwrap();
    assert_eq!(damage.raw, old);
    assert!(damage.reason.contains("message.format.version"), "{}", damage.reason);
    // Those that were not asked for are no damage.
    let bytes = bytes.slice(log(&[(0, batch(3))]).len()..);
    assert_eq!(scan(&bytes, 8).next_offset, 9);
    let decoded = decode_from(&bytes, 8);
    assert_eq!((offsets(&decoded), decoded.next_offset, decoded.damage), (vec![8], 9, None));
    // One that is cut off is not known to be alone.
    let decoded = decode_from(&message(3, 1)[..30].to_vec().into(), 3);
    let damage = decoded.damage.unwrap();
    assert_eq!((damage.kind, damage.next_offset), (DamageKind::OldFormat, None));
}

#[test]
fn formats_to_come_are_damage() {
    let (_, decoded) = changed(1, |batch| batch[16] = 3);
    assert_damage(&decoded, DamageKind::Corrupt, 3, Some(6));
    assert!(decoded.damage.unwrap().reason.contains("magic 3"));
}
