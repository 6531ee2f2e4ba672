use bytes::Bytes;

use super::{AbortedTransaction, Decoding, Share, decode, scan};
use crate::record::{RecordBatch, TopicPartition};

/// Decodes `records` from offset `from` on as a broker's answer for partition 0 of `orders`, and says what came of it and
/// where the next fetch would begin; for fuzzing and benches. `aborted` lists producers and first offsets, and `copy` tells
/// to keep nothing of `records`.
#[doc(hidden)]
pub fn decode_answer(
    records: &Bytes,
    from: i64,
    aborted: Option<&[(i64, i64)]>,
    max_decompressed: usize,
    copy: bool,
) -> (Vec<RecordBatch>, i64) {
    let transaction = |&(producer_id, first_offset): &_| AbortedTransaction { producer_id, first_offset };
    let partition = TopicPartition::new("orders", 0);
    let decoding = Decoding {
        partition: &partition,
        topic_id: None,
        from,
        aborted: aborted.map(|list| list.iter().map(transaction).collect()),
        max_decompressed,
        room: usize::MAX,
        share: if copy { Share { of: usize::MAX } } else { Share { of: records.len() } },
    };
    let decoded = decode(records, decoding);
    let scanned = scan(records, from);
    assert!(scanned.bytes <= records.len());
    match decoded.damage {
        None => assert_eq!((scanned.next_offset, scanned.leader_epoch), (decoded.next_offset, decoded.leader_epoch)),
        Some(damage) => {
            assert_eq!(damage.offset, decoded.next_offset);
            assert!(damage.next_offset.is_none_or(|next| next > damage.offset));
            assert!(damage.raw.len() <= records.len() && !damage.reason.is_empty());
        }
    }
    (decoded.batches, decoded.next_offset)
}
