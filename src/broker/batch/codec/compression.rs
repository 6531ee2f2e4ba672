/// How record batches that are produced are compressed. Batches are read whatever they are compressed with.
///
/// In settings, the names in lower case: `none`, `gzip`, `snappy`, `lz4`, `zstd`. A batch that would not become smaller is
/// sent as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Small and slow; each Kafka has it.
    Gzip,
    /// Fast.
    Snappy,
    /// Fast.
    Lz4,
    /// Kafka 2.1 and later.
    Zstd,
}

impl Compression {
    /// Its number in the attributes of a batch.
    pub(in crate::broker::batch) fn codec(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }
}
