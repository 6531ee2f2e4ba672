//! The varints of record batches: zigzag, seven bits a byte, the least significant first.

use bytes::{BufMut, BytesMut};

/// The most bytes that a varint takes.
pub(crate) const VARINT_MAX: usize = 10;

/// Reads a varint of at most 10 bytes.
#[inline]
pub(crate) fn read_varint(rest: &mut &[u8]) -> Option<i64> {
    read_zigzag(rest).map(unzigzag)
}

/// The usual sizes first, where they are inlined: lengths and deltas take one byte, values of up to 8 KiB two.
#[inline]
fn read_zigzag(rest: &mut &[u8]) -> Option<u64> {
    match **rest {
        [first, ref after @ ..] if first < 0x80 => {
            *rest = after;
            Some(u64::from(first))
        }
        [first, second, ref after @ ..] if second < 0x80 => {
            *rest = after;
            Some(u64::from(first & 0x7f) | u64::from(second) << 7)
        }
        _ => read_long(rest),
    }
}

fn read_long(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for index in 0..VARINT_MAX {
        let &byte = rest.get(index)?;
        value |= u64::from(byte & 0x7f) << (index * 7);
        if byte < 0x80 {
            *rest = &rest[index + 1..];
            return Some(value);
        }
    }
    None
}

fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Appends a varint.
#[inline]
pub(crate) fn put_varint(buffer: &mut BytesMut, value: i64) {
    let mut left = zigzag(value);
    if left < 0x80 {
        return buffer.put_u8(left as u8);
    }
    let mut bytes = [0; VARINT_MAX];
    let mut length = 0;
    while left >= 0x80 {
        bytes[length] = left as u8 | 0x80;
        length += 1;
        left >>= 7;
    }
    bytes[length] = left as u8;
    buffer.put_slice(&bytes[..=length]);
}

/// How many bytes `value` takes.
pub(crate) fn varint_length(value: i64) -> usize {
    let bits = 64 - (zigzag(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Reads bytes behind their length; the inner `None` is null.
#[inline]
pub(crate) fn read_run<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let length = read_zigzag(rest)?;
    if length & 1 == 1 {
        // Negative.
        return Some(None);
    }
    let (run, after) = rest.split_at_checked(usize::try_from(length >> 1).ok()?)?;
    *rest = after;
    Some(Some(run))
}

/// Appends bytes behind their length, or null.
#[inline]
pub(crate) fn put_run(buffer: &mut BytesMut, run: Option<&[u8]>) {
    match run {
        Some(run) => {
            put_varint(buffer, run.len() as i64);
            buffer.put_slice(run);
        }
        None => put_varint(buffer, -1),
    }
}

/// How many bytes `run` takes, its length included.
pub(crate) fn run_length(run: Option<&[u8]>) -> usize {
    run.map_or(1, |run| varint_length(run.len() as i64) + run.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn varints_round_trip(value: i64, shift in 0u32..64) {
            let value = value >> shift;
            let mut buffer = BytesMut::new();
            put_varint(&mut buffer, value);
            prop_assert_eq!(buffer.len(), varint_length(value));
            let mut rest = &buffer[..];
            prop_assert_eq!(read_varint(&mut rest), Some(value));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn cut_varints_are_refused(value: i64, cut in 0usize..10) {
            let mut buffer = BytesMut::new();
            put_varint(&mut buffer, value);
            let mut rest = &buffer[..cut.min(buffer.len() - 1)];
            prop_assert_eq!(read_varint(&mut rest), None);
        }

        #[test]
        fn runs_round_trip(run in prop::option::of(prop::collection::vec(any::<u8>(), 0..300))) {
            let mut buffer = BytesMut::new();
            put_run(&mut buffer, run.as_deref());
            prop_assert_eq!(buffer.len(), run_length(run.as_deref()));
            let mut rest = &buffer[..];
            prop_assert_eq!(read_run(&mut rest), Some(run.as_deref()));
        }
    }

    #[test]
    fn a_varint_without_an_end_is_refused() {
        assert_eq!(read_varint(&mut &[0xff; 20][..]), None);
    }
}
