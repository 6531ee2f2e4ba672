use bezoar::record::{Header, ProducerRecord};
use bezoar::replay::DeadLetter;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

fn text(name: &str) -> String {
    let path = format!("{}/tests/fixtures/v1/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The bytes of a file in hexadecimal, with blanks and line ends as one likes.
pub(crate) fn bytes(name: &str) -> Bytes {
    let digits: Vec<char> = text(name).chars().filter(|digit| !digit.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// The same the other way round; for people who compare.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A record of a dead-letter topic; all texts are UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub(crate) key: Option<String>,
    pub(crate) value: Option<String>,
    /// In their order; `null` is a null header.
    pub(crate) headers: Vec<(String, Option<String>)>,
}

impl Letter {
    pub(crate) fn load(name: &str) -> Self {
        serde_json::from_str(&text(name)).unwrap()
    }

    pub(crate) fn of(record: &ProducerRecord) -> Self {
        let owned = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        Self {
            key: record.key.as_ref().map(owned),
            value: record.value.as_ref().map(owned),
            headers: record
                .headers
                .iter()
                .map(|header| (owned(&header.name), header.value.as_ref().map(owned)))
                .collect(),
        }
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.headers.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// As this version reads it.
    pub(crate) fn read(&self) -> DeadLetter {
        let header = |(name, value): &(String, Option<String>)| Header {
            name: name.clone().into(),
            value: value.clone().map(Bytes::from),
        };
        let headers = self.headers.iter().map(header).collect();
        DeadLetter::read(self.key.clone().map(Bytes::from), self.value.clone().map(Bytes::from), headers)
    }
}

/// The metadata text beside a committed offset.
pub(crate) fn metadata() -> String {
    #[derive(Deserialize)]
    struct Committed {
        metadata: String,
    }
    serde_json::from_str::<Committed>(&text("committed_offset.json")).unwrap().metadata
}
