//! Stand-in.
use bytes::Bytes;
use uuid::Uuid;

use crate::broker::batch::{BatchError, BatchHeader, raw_records};
use crate::record::{HeaderRef, RecordBatch, RecordBatchBuilder, TopicPartition};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AbortedTransaction {
    pub(crate) producer_id: i64,
    pub(crate) first_offset: i64,
}
pub(crate) struct Decoding<'a> {
    pub(crate) partition: &'a TopicPartition,
    pub(crate) topic_id: Option<Uuid>,
    pub(crate) from: i64,
    pub(crate) aborted: Option<Vec<AbortedTransaction>>,
    pub(crate) max_decompressed: usize,
    pub(crate) share: Share,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    Slice,
    Copy,
}
pub(crate) struct Decoded {
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) next_offset: i64,
    pub(crate) leader_epoch: Option<i32>,
    pub(crate) damage: Option<Damage>,
}
#[derive(Debug)]
pub(crate) struct Damage {
    pub(crate) kind: DamageKind,
    pub(crate) offset: i64,
    pub(crate) next_offset: Option<i64>,
    pub(crate) raw: Bytes,
    pub(crate) reason: String,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DamageKind {
    Corrupt,
    TooLarge,
    OldFormat,
    UnknownCodec,
}

pub(crate) fn decode(records: &Bytes, decoding: Decoding<'_>) -> Decoded {
    let _ = (decoding.max_decompressed, decoding.share);
    let mut aborted = decoding.aborted.clone().unwrap_or_default();
    aborted.sort_by_key(|one| one.first_offset);
    let mut rest = &records[..];
    let mut decoded = Decoded { batches: Vec::new(), next_offset: decoding.from, leader_epoch: None, damage: None };
    let mut active = std::collections::HashSet::new();
    while rest.len() >= 12 {
        let header = match BatchHeader::check(rest) {
            Ok(header) => header,
            Err(BatchError::Length { .. } | BatchError::TooShort(_)) => break,
            Err(error) => {
                let scan = scan(&rest[..], decoding.from);
                let size = 12 + i32::from_be_bytes(rest[8..12].try_into().unwrap_or_default()) as usize;
                decoded.damage = Some(Damage {
                    kind: DamageKind::Corrupt,
                    offset: decoded.next_offset,
                    next_offset: Some(scan.next_offset),
                    raw: Bytes::copy_from_slice(&rest[..size]),
                    reason: error.to_string(),
                });
                return decoded;
            }
        };
        let next = header.base_offset + i64::from(header.last_offset_delta) + 1;
        aborted.retain(|one| {
            let begun = one.first_offset < next;
            if begun {
                active.insert(one.producer_id);
            }
            !begun
        });
        let hidden = header.is_transactional() && active.contains(&header.producer_id);
        if header.is_control() {
            active.remove(&header.producer_id);
        }
        let mut builder = RecordBatchBuilder::new(decoding.partition.clone(), decoding.topic_id);
        if !header.is_control() && !hidden {
            for record in raw_records(rest, &header).unwrap_or_default() {
                let record = record.to_stored(&header);
                if record.offset < decoding.from {
                    continue;
                }
                let headers: Vec<_> =
                    record.headers.iter().map(|h| HeaderRef { name: &h.name, value: h.value.as_deref() }).collect();
                builder.push(
                    record.offset,
                    record.timestamp,
                    record.key.as_deref(),
                    record.value.as_deref(),
                    headers.into_iter(),
                );
            }
        }
        decoded.next_offset = decoded.next_offset.max(next);
        decoded.leader_epoch = Some(i32::from_be_bytes(rest[12..16].try_into().unwrap_or_default()));
        decoded.batches.push(builder.build(decoded.next_offset));
        rest = &rest[header.size..];
    }
    decoded
}

pub(crate) struct Scan {
    pub(crate) next_offset: i64,
    pub(crate) leader_epoch: Option<i32>,
    pub(crate) bytes: usize,
}
pub(crate) fn scan(records: &[u8], from: i64) -> Scan {
    let mut scan = Scan { next_offset: from, leader_epoch: None, bytes: 0 };
    let mut rest = records;
    while rest.len() >= 61 {
        let base = i64::from_be_bytes(rest[..8].try_into().unwrap_or_default());
        let size = 12 + i32::from_be_bytes(rest[8..12].try_into().unwrap_or_default()) as usize;
        if size > rest.len() || rest[16] != 2 {
            break;
        }
        let delta = i32::from_be_bytes(rest[23..27].try_into().unwrap_or_default());
        scan.next_offset = scan.next_offset.max(base + i64::from(delta) + 1);
        scan.leader_epoch = Some(i32::from_be_bytes(rest[12..16].try_into().unwrap_or_default()));
        scan.bytes += size;
        rest = &rest[size..];
    }
    scan
}
