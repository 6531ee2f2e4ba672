//! The same as kafka-protocol's own encoder and decoder, where they can be compared: theirs keeps headers in a map.

use std::collections::HashSet;

use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records::{
    Compression as PeerCompression, Record as PeerRecord, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions,
    TimestampType,
};
use proptest::prelude::*;

use super::round_trip::producer_record;
use super::*;
use crate::record::{Header, ProducerRecord};

prop_compose! {
    /// A record that the peer can hold: its headers have names of their own, which are text.
    fn comparable()(mut record in producer_record(), timestamp in -1_000_000i64..1 << 45) -> ProducerRecord {
        let mut names = HashSet::new();
        record.headers.retain(|header| std::str::from_utf8(&header.name).is_ok() && names.insert(header.name.clone()));
        record.timestamp = Some(timestamp);
        record
    }
}

fn to_peer(record: &ProducerRecord, offset: i64) -> PeerRecord {
    let name = |header: &Header| StrBytes::from_utf8(header.name.clone()).unwrap();
    PeerRecord {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: -1,
        producer_id: -1,
        producer_epoch: -1,
        timestamp_type: TimestampType::Creation,
        offset,
        sequence: offset as i32 - 1,
        timestamp: record.timestamp.unwrap(),
        key: record.key.clone(),
        value: record.value.clone(),
        headers: record.headers.iter().map(|header| (name(header), header.value.clone())).collect(),
    }
}

proptest! {
    #[test]
    fn ours_is_read_as_theirs(sent in prop::collection::vec(comparable(), 1..20)) {
        let mut bytes = encode(&sent, 0, Compression::None, NOBODY).freeze();
        let read = RecordBatchDecoder::decode(&mut bytes).unwrap().records;
        prop_assert_eq!(read.len(), sent.len());
        for ((read, sent), offset) in read.iter().zip(&sent).zip(0..) {
            let expected = to_peer(sent, offset);
            prop_assert_eq!((&read.key, &read.value, &read.headers), (&expected.key, &expected.value, &expected.headers));
            prop_assert_eq!((read.offset, read.timestamp), (expected.offset, expected.timestamp));
        }
    }

    #[test]
    fn theirs_is_read_as_ours(sent in prop::collection::vec(comparable(), 1..20)) {
        let peers: Vec<PeerRecord> = sent.iter().zip(0..).map(|(record, offset)| to_peer(record, offset)).collect();
        let options = RecordEncodeOptions { version: 2, compression: PeerCompression::None };
        let mut bytes = bytes::BytesMut::new();
        RecordBatchEncoder::encode(&mut bytes, &peers, &options).unwrap();
        let decoded = decode_from(&bytes.freeze(), 0);
        prop_assert_eq!(&decoded.damage, &None);
        let read = records(&decoded);
        prop_assert_eq!(read.len(), sent.len());
        for (read, sent) in read.iter().zip(&sent) {
            prop_assert_eq!((read.key_bytes(), read.value_bytes()), (sent.key.clone(), sent.value.clone()));
            prop_assert_eq!((read.timestamp(), read.headers().to_vec()), (sent.timestamp.unwrap(), sent.headers.clone()));
        }
    }
}
