use std::time::Duration;

use bytes::Bytes;

use super::backoff;
use super::position::Remedy;
use super::reading::Reading;
use crate::broker::batch::{AbortedTransaction, Damage, DamageKind, Decoding, Share, decode};
use crate::broker::{BrokerError, SourceProblem};
use crate::record::{RecordBatch, RecordBatchBuilder};

/// What an answer holds for one partition.
pub(super) struct Chunk {
    /// The offset asked for.
    pub(super) from: i64,
    /// The epoch of the batch before it.
    pub(super) epoch: Option<i32>,
    pub(super) records: Bytes,
    /// The transactions whose records are not wanted; `None` where all are.
    pub(super) aborted: Option<Vec<AbortedTransaction>>,
    /// Up to where the log could be read.
    pub(super) end: i64,
}

/// How reading goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// From the position on.
    GoOn,
    /// From the position on, after a pause.
    Pause(Duration),
    /// Nobody wants it any more, or it cannot.
    End,
}

/// Decodes a chunk into the feed, and moves the position to where reading goes on.
pub(super) fn take_in(reading: &mut Reading, chunk: Chunk, max_decompressed: usize, share: Share) -> Next {
    let decoding = Decoding {
        partition: &reading.partition,
        topic_id: reading.topic_id,
        from: chunk.from,
        aborted: chunk.aborted,
        max_decompressed,
        // What would overfill the feed is fetched again when there is room.
        room: reading.credit(0).unwrap_or(0),
        share,
    };
    let decoded = decode(&chunk.records, decoding);
    reading.note_expansion(decoded.expansion);
    for batch in decoded.batches {
        // What holds no records only moves the watermark, which the next one with records does as well.
        if !batch.is_empty() && !reading.push(batch) {
            return Next::End;
        }
    }
    let at_end = decoded.next_offset >= chunk.end || !reading.is_wanted(decoded.next_offset);
    if reading.position.should_tell(decoded.next_offset, at_end) {
        let passed = RecordBatchBuilder::new(reading.partition.clone(), reading.topic_id)
            .leader_epoch(decoded.leader_epoch)
            .build(decoded.next_offset);
        if !reading.push(passed) {
            return Next::End;
        }
    }
    if decoded.next_offset != reading.position.offset {
        reading.position.move_to(decoded.next_offset, decoded.leader_epoch.or(chunk.epoch));
    }
    match decoded.damage {
        Some(damage) => repair(reading, damage),
        None if decoded.next_offset > chunk.from => Next::GoOn,
        None => {
            // A broker sends the first batch whole, whatever the limits.
            let doing = reading.doing();
            let cause = format!("{} bytes without a whole record batch", chunk.records.len());
            Next::Pause(reading.failed(BrokerError::Malformed { doing, cause }))
        }
    }
}

fn repair(reading: &mut Reading, damage: Damage) -> Next {
    let epoch = reading.position.epoch;
    let remedy = reading.position.judge(&damage);
    tracing::warn!(partition = %reading.partition, offset = damage.offset, ?remedy, reason = damage.reason, "damaged record batch");
    match remedy {
        Remedy::Retry(met) => Next::Pause(backoff::pause(met, rand::random())),
        Remedy::Quarantine(next) => {
            // It may begin with records that were not asked for.
            let range = (damage.offset.max(reading.position.offset), next);
            let partition = reading.partition.clone();
            let batch = RecordBatch::damaged(partition, reading.topic_id, range, damage.raw, damage.reason);
            reading.position.move_to(next, epoch);
            if reading.push(batch) { Next::GoOn } else { Next::End }
        }
        Remedy::Stop => {
            reading.stop(SourceProblem::Failed(unreadable(reading.doing(), &damage)));
            Next::End
        }
    }
}

/// The error for a batch that can be neither read nor stepped over.
fn unreadable(doing: String, damage: &Damage) -> BrokerError {
    let reason = &damage.reason;
    match damage.kind {
        DamageKind::OldFormat => BrokerError::Unsupported {
            doing,
            remedy: format!(
                "{reason}; copy the topic's records to a new topic with a current producer, or set the group's offset to \
                 behind them"
            ),
        },
        DamageKind::UnknownCodec => BrokerError::Unsupported {
            doing,
            remedy: format!(
                "{reason}; set compression.type of the topic to a codec that is known for what is written from now on, and \
                 the group's offset to behind this batch"
            ),
        },
        DamageKind::Corrupt | DamageKind::TooLarge => BrokerError::Malformed {
            doing,
            cause: format!(
                "{reason}, and where the next batch begins cannot be told; restore the partition from another replica, or \
                 set the group's offset to behind the damage"
            ),
        },
    }
}
