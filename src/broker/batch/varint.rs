use bytes::{BufMut, BytesMut};

/// Reads a zigzag varint of at most 10 bytes.
pub(super) fn read_varint(rest: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for index in 0..10 {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << (index * 7);
        if byte & 0x80 == 0 {
            return Some(((value >> 1) as i64) ^ -((value & 1) as i64));
        }
    }
    None
}

/// Appends a zigzag varint.
pub(super) fn put_varint(buffer: &mut BytesMut, value: i64) {
    let mut zigzag = ((value << 1) ^ (value >> 63)) as u64;
    while zigzag >= 0x80 {
        buffer.put_u8(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    buffer.put_u8(zigzag as u8);
}

/// Reads bytes behind their length; the inner `None` is null.
pub(super) fn read_run<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let length = read_varint(rest)?;
    if length < 0 {
        return Some(None);
    }
    let (run, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(Some(run))
}

/// Appends bytes behind their length, or null.
pub(super) fn put_run(buffer: &mut BytesMut, run: Option<&[u8]>) {
    match run {
        Some(run) => {
            put_varint(buffer, run.len() as i64);
            buffer.put_slice(run);
        }
        None => put_varint(buffer, -1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn varints_round_trip(value: i64) {
            let mut buffer = BytesMut::new();
            put_varint(&mut buffer, value);
            let mut rest = &buffer[..];
            prop_assert_eq!(read_varint(&mut rest), Some(value));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn runs_round_trip(run in prop::option::of(prop::collection::vec(any::<u8>(), 0..300))) {
            let mut buffer = BytesMut::new();
            put_run(&mut buffer, run.as_deref());
            let mut rest = &buffer[..];
            prop_assert_eq!(read_run(&mut rest), Some(run.as_deref()));
        }
    }
}
