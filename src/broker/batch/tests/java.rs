//! Batches that Kafka's own client wrote; `java/Batches.java` says how.

use super::*;
use crate::record::Header;

#[test]
fn what_java_compressed_is_read() {
    let files: [(&str, &'static [u8]); 5] = [
        ("gzip", include_bytes!("java/gzip")),
        ("snappy", include_bytes!("java/snappy")),
        ("lz4", include_bytes!("java/lz4")),
        ("zstd", include_bytes!("java/zstd")),
        ("zstd, level 22", include_bytes!("java/zstd-22")),
    ];
    let tagged = |index: u8| vec![Header::new("b", vec![index]), Header::null("a"), Header::new("b", "")];
    for (name, bytes) in files {
        // Less than the window of level 22, 128 MiB.
        let decoded = decode_with(&Bytes::from_static(bytes), |decoding| decoding.max_decompressed = 50_000);
        assert_eq!(decoded.damage, None, "{name}");
        assert_eq!(offsets(&decoded), [7, 8, 9, 10], "{name}");
        for (record, index) in records(&decoded).iter().zip(0u8..) {
            assert_eq!(record.key(), Some(format!("key{index}").as_bytes()));
            let value = "value ".repeat(if index == 2 { 7000 } else { 20 });
            assert_eq!(record.value(), (index != 3).then_some(value.as_bytes()));
            assert_eq!(record.timestamp(), 1_790_000_000_000 + i64::from(index));
            assert_eq!(record.headers().to_vec(), if index % 2 == 0 { vec![] } else { tagged(index) });
        }
    }
}
