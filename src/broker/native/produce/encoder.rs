use bytes::{Bytes, BytesMut};

use super::line::{Body, Stamp};
use crate::broker::Compression;
use crate::broker::batch::{NOBODY, encode, stamp};
use crate::record::ProducerRecord;

/// The bytes of a batch under its number. They stay with it, so that it is sent again as it was, timestamps included.
pub(super) fn bytes_of(
    body: &mut Body<ProducerRecord>,
    number: Option<Stamp>,
    now_millis: i64,
    compression: Compression,
) -> Bytes {
    let sender = number.map_or(NOBODY, |Stamp { producer_id, epoch, sequence }| (producer_id, epoch, sequence));
    let batch = match body.encoded.take() {
        Some((known, bytes)) if known == number => {
            body.encoded = Some((known, bytes.clone()));
            return bytes;
        }
        // Copied only where the request that they were sent with is still held somewhere.
        Some((_, bytes)) => {
            let mut batch = bytes.try_into_mut().unwrap_or_else(|bytes| BytesMut::from(&bytes[..]));
            stamp(&mut batch, sender);
            batch
        }
        None => encode(&body.records, now_millis, compression, sender),
    };
    let bytes = batch.freeze();
    body.encoded = Some((number, bytes.clone()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(sequence: i32) -> Option<Stamp> {
        Some(Stamp { producer_id: 7, epoch: 1, sequence })
    }

    #[test]
    fn a_batch_is_sent_again_as_it_was_and_numbered_anew_as_if_it_were_new() {
        let records = vec![ProducerRecord::to("orders").value("v"), ProducerRecord::to("orders").key("k")];
        let body = || Body { records: records.clone(), encoded: None };
        let (mut old, mut new) = (body(), body());
        let first = bytes_of(&mut old, number(5), 100, Compression::None);
        assert_eq!(
            bytes_of(&mut old, number(5), 200, Compression::None),
            first,
            "not stamped with the time of sending again"
        );
        let renumbered = bytes_of(&mut old, number(0), 300, Compression::None);
        assert_ne!(renumbered, first);
        assert_eq!(renumbered, bytes_of(&mut new, number(0), 100, Compression::None));
    }
}
