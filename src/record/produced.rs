use std::sync::Arc;

use bytes::Bytes;

use super::headers::Header;

/// A record to be produced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerRecord {
    /// The topic to produce to.
    pub topic: Arc<str>,
    /// The partition; `None` lets the key choose it as Kafka's Java client does (murmur2), or any where there is none.
    pub partition: Option<i32>,
    /// The key; `None` is Kafka's null.
    pub key: Option<Bytes>,
    /// The value; `None` is a tombstone.
    pub value: Option<Bytes>,
    /// The headers, in order.
    pub headers: Vec<Header>,
    /// The timestamp in milliseconds since the Unix epoch; `None` is the time of producing.
    pub timestamp: Option<i64>,
}

impl ProducerRecord {
    /// A record for `topic` with nothing in it.
    pub fn to(topic: impl Into<Arc<str>>) -> Self {
        Self { topic: topic.into(), partition: None, key: None, value: None, headers: Vec::new(), timestamp: None }
    }

    /// Sets the partition.
    pub fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// Sets the key.
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the value.
    pub fn value(mut self, value: impl Into<Bytes>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// Appends a header.
    pub fn header(mut self, name: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        self.headers.push(Header::new(name, value));
        self
    }

    /// Sets the timestamp, in milliseconds since the Unix epoch.
    pub fn timestamp(mut self, millis: i64) -> Self {
        self.timestamp = Some(millis);
        self
    }
}
