use std::collections::{HashMap, VecDeque};

use kafka_protocol::ResponseError;

use crate::broker::batch::BatchHeader;

const OUT_OF_ORDER: ResponseError = ResponseError::OutOfOrderSequenceNumber;

/// How many of its last batches a producer may send again without harm, as in Kafka.
const REMEMBERED: usize = 5;

/// What a partition remembers of idempotent producers.
#[derive(Debug, Default)]
pub(super) struct Producers {
    by_id: HashMap<i64, Producer>,
}

#[derive(Debug)]
struct Producer {
    epoch: i16,
    batches: VecDeque<Sent>,
}

#[derive(Debug)]
struct Sent {
    first_sequence: i32,
    last_sequence: i32,
    offset: i64,
}

/// What to do with a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// To be appended.
    New,
    /// One of the last, already appended at this offset.
    Duplicate(i64),
}

impl Producers {
    /// Judges a batch by its producer's epoch and sequence numbers. A producer that the partition does not know may
    /// begin anywhere, as in Kafka: what was known of it may have been deleted with its records.
    pub(super) fn judge(&self, header: &BatchHeader) -> Result<Verdict, ResponseError> {
        if header.producer_id < 0 {
            return Ok(Verdict::New);
        }
        let Some(producer) = self.by_id.get(&header.producer_id) else { return Ok(Verdict::New) };
        if header.producer_epoch < producer.epoch {
            return Err(ResponseError::InvalidProducerEpoch);
        }
        if header.producer_epoch > producer.epoch {
            return if header.base_sequence == 0 { Ok(Verdict::New) } else { Err(OUT_OF_ORDER) };
        }
        let (first, last) = (header.base_sequence, header.last_sequence());
        if let Some(sent) = producer.batches.iter().find(|s| (s.first_sequence, s.last_sequence) == (first, last)) {
            return Ok(Verdict::Duplicate(sent.offset));
        }
        match producer.batches.back() {
            Some(sent) if first != sent.last_sequence.checked_add(1).unwrap_or(0) => Err(OUT_OF_ORDER),
            None if first != 0 => Err(OUT_OF_ORDER),
            _ => Ok(Verdict::New),
        }
    }

    /// Takes a producer's epoch from the marker that ends its transaction: older ones are refused from then on, and a
    /// newer one begins at sequence number 0.
    pub(super) fn fence(&mut self, marker: &BatchHeader) {
        if marker.producer_id < 0 {
            return;
        }
        let fresh = || Producer { epoch: marker.producer_epoch, batches: VecDeque::new() };
        let producer = self.by_id.entry(marker.producer_id).or_insert_with(fresh);
        if producer.epoch < marker.producer_epoch {
            *producer = fresh();
        }
    }

    /// Remembers a batch that is appended at `offset`.
    pub(super) fn note(&mut self, header: &BatchHeader, offset: i64) {
        if header.producer_id < 0 {
            return;
        }
        let fresh = || Producer { epoch: header.producer_epoch, batches: VecDeque::new() };
        let producer = self.by_id.entry(header.producer_id).or_insert_with(fresh);
        if producer.epoch != header.producer_epoch {
            *producer = fresh();
        }
        if producer.batches.len() == REMEMBERED {
            producer.batches.pop_front();
        }
        let last_sequence = header.last_sequence();
        producer.batches.push_back(Sent { first_sequence: header.base_sequence, last_sequence, offset });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::batch::BatchWriter;

    fn batch(epoch: i16, first: i32, records: i32) -> BatchHeader {
        let writer = BatchWriter::new().producer(7, epoch, first).last_offset_delta(records - 1);
        BatchHeader::check(&writer.build()).unwrap()
    }

    fn sent(batches: &[(BatchHeader, i64)]) -> Producers {
        let mut producers = Producers::default();
        for (header, offset) in batches {
            assert_eq!(producers.judge(header), Ok(Verdict::New));
            producers.note(header, *offset);
        }
        producers
    }

    #[test]
    fn sequences_must_follow_each_other() {
        let producers = sent(&[(batch(0, 0, 3), 0)]);
        assert_eq!(producers.judge(&batch(0, 3, 1)), Ok(Verdict::New));
        assert_eq!(producers.judge(&batch(0, 4, 1)), Err(OUT_OF_ORDER));
        assert_eq!(producers.judge(&batch(0, 1, 1)), Err(OUT_OF_ORDER));
    }

    #[test]
    fn the_last_five_batches_are_known_again() {
        let all: Vec<_> = (0..6).map(|n| (batch(0, n, 1), i64::from(n) * 10)).collect();
        let producers = sent(&all);
        assert_eq!(producers.judge(&batch(0, 0, 1)), Err(OUT_OF_ORDER));
        for n in 1..6 {
            assert_eq!(producers.judge(&batch(0, n, 1)), Ok(Verdict::Duplicate(i64::from(n) * 10)));
        }
    }

    #[test]
    fn an_older_epoch_is_fenced_and_a_newer_one_begins_at_zero() {
        let producers = sent(&[(batch(1, 0, 1), 0)]);
        assert_eq!(producers.judge(&batch(0, 1, 1)), Err(ResponseError::InvalidProducerEpoch));
        assert_eq!(producers.judge(&batch(2, 1, 1)), Err(OUT_OF_ORDER));
        assert_eq!(producers.judge(&batch(2, 0, 1)), Ok(Verdict::New));
    }

    #[test]
    fn a_marker_of_a_newer_epoch_fences_and_one_of_the_same_changes_nothing() {
        let mut producers = sent(&[(batch(0, 0, 3), 0)]);
        producers.fence(&batch(0, 0, 1));
        assert_eq!(producers.judge(&batch(0, 3, 1)), Ok(Verdict::New));
        producers.fence(&batch(1, 0, 1));
        assert_eq!(producers.judge(&batch(0, 3, 1)), Err(ResponseError::InvalidProducerEpoch));
        assert_eq!(producers.judge(&batch(1, 3, 1)), Err(OUT_OF_ORDER));
        assert_eq!(producers.judge(&batch(1, 0, 1)), Ok(Verdict::New));
    }

    #[test]
    fn sequences_wrap_to_zero() {
        let producers = sent(&[(batch(0, i32::MAX - 1, 2), 0)]);
        assert_eq!(producers.judge(&batch(0, 0, 1)), Ok(Verdict::New));
        assert_eq!(batch(0, i32::MAX, 2).last_sequence(), 0);
        assert_eq!(batch(0, i32::MAX, 3).last_sequence(), 1);
    }
}
