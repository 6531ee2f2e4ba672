/// The partition that Kafka's Java client chooses for a key: positive murmur2 modulo the number of partitions.
///
/// Source: `BuiltInPartitioner.partitionForKey` of Apache Kafka.
pub(crate) fn partition_for_key(key: &[u8], partitions: i32) -> i32 {
    ((murmur2(key) & 0x7fff_ffff) % partitions.max(1) as u32) as i32
}

/// MurmurHash2, 32 bit, with the seed that Kafka uses.
fn murmur2(data: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c ^ data.len() as u32;
    let mut words = data.chunks_exact(4);
    for word in &mut words {
        let mut k = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(M);
        k = (k ^ (k >> 24)).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        for (index, &byte) in rest.iter().enumerate() {
            hash ^= u32::from(byte) << (8 * index);
        }
        hash = hash.wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur2_matches_the_values_in_kafkas_own_test() {
        // From `UtilsTest.testMurmur2` of Apache Kafka.
        let cases: [(&[u8], i32); 4] = [
            (b"21", -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"abc", 479_470_107),
        ];
        for (key, hash) in cases {
            assert_eq!(murmur2(key) as i32, hash, "{key:?}");
        }
    }

    #[test]
    fn partitions_are_in_range() {
        for key in 0..1000u32 {
            assert!((0..7).contains(&partition_for_key(&key.to_be_bytes(), 7)));
        }
    }
}
