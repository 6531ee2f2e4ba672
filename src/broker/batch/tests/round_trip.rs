use proptest::prelude::*;

use super::*;
use crate::broker::batch::scan::Scan;
use crate::record::{Header, ProducerRecord};

fn some_bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from),
        // What can be compressed.
        (any::<u8>(), 0usize..3000).prop_map(|(byte, length)| Bytes::from(vec![byte; length])),
    ]
}

prop_compose! {
    pub(super) fn producer_record()(
        key in prop::option::of(some_bytes()),
        value in prop::option::of(some_bytes()),
        headers in prop::collection::vec((some_bytes(), prop::option::of(some_bytes())), 0..4),
        timestamp in prop::option::of(prop_oneof![any::<i64>(), -5i64..5, 1_790_000_000_000i64..1_790_000_100_000]),
    ) -> ProducerRecord {
        let headers = headers.into_iter().map(|(name, value)| Header { name, value }).collect();
        ProducerRecord { key, value, headers, timestamp, ..ProducerRecord::to("orders") }
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        sent in prop::collection::vec(producer_record(), 1..30),
        codec in 0usize..5,
        base in 0i64..1 << 40,
        share in prop_oneof![Just(Share { of: 0 }), Just(Share { of: usize::MAX })],
    ) {
        let mut bytes = encode(&sent, 77, COMPRESSIONS[codec], NOBODY);
        prop_assert!(bytes.len() <= 61 + sent.iter().map(size_bound).sum::<usize>());
        stamp(&mut bytes, (9, 2, 40));
        let mut header = BatchHeader::check(&bytes).unwrap();
        prop_assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), (9, 2, 40));
        header.set_base(&mut bytes, base, 5);
        let bytes = bytes.freeze();

        let decoded = decode_with(&bytes, |decoding| (decoding.from, decoding.share) = (base, share));
        prop_assert_eq!(&decoded.damage, &None);
        prop_assert_eq!(decoded.next_offset, base + sent.len() as i64);
        prop_assert_eq!(decoded.leader_epoch, Some(5));
        let scanned = scan(&bytes, base);
        prop_assert_eq!(scanned, Scan { next_offset: decoded.next_offset, leader_epoch: Some(5), bytes: bytes.len() });
        let read = records(&decoded);
        prop_assert_eq!(read.len(), sent.len());
        for ((read, sent), offset) in read.iter().zip(&sent).zip(base..) {
            prop_assert_eq!(read.offset(), offset);
            prop_assert_eq!(read.partition(), &orders());
            prop_assert_eq!(read.timestamp(), sent.timestamp.unwrap_or(77));
            prop_assert_eq!(read.key_bytes(), sent.key.clone());
            prop_assert_eq!(read.value_bytes(), sent.value.clone());
            prop_assert_eq!(read.headers().to_vec(), sent.headers.clone());
        }
    }
}

#[test]
fn an_encoded_batch_says_of_itself_what_is_in_it() {
    let sent = [
        ProducerRecord::to("orders").timestamp(-3),
        ProducerRecord::to("orders"),
        ProducerRecord::to("orders").timestamp(5),
    ];
    let header = BatchHeader::check(&encode(&sent, 2, Compression::None, NOBODY)).unwrap();
    assert_eq!((header.count, header.last_offset_delta), (3, 2));
    assert_eq!((header.base_timestamp, header.max_timestamp), (-3, 5));
    assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), (-1, -1, -1));
    assert_eq!((header.base_offset, header.leader_epoch), (0, -1));
}

#[test]
fn what_does_not_become_smaller_is_not_compressed() {
    for compression in COMPRESSIONS {
        let small = encode(&[ProducerRecord::to("orders").value("x")], 0, compression, NOBODY);
        assert!(!BatchHeader::check(&small).unwrap().is_compressed());
        let large = encode(&[ProducerRecord::to("orders").value(vec![b'x'; 1000])], 0, compression, NOBODY);
        assert_eq!(BatchHeader::check(&large).unwrap().is_compressed(), compression != Compression::None);
    }
}

#[test]
fn compressions_go_by_their_names_in_settings() {
    let names = ["none", "gzip", "snappy", "lz4", "zstd"];
    for (compression, name) in COMPRESSIONS.into_iter().zip(names) {
        assert_eq!(serde_json::to_string(&compression).unwrap(), format!("\"{name}\""));
        assert_eq!(serde_json::from_str::<Compression>(&format!("\"{name}\"")).unwrap(), compression);
    }
}
