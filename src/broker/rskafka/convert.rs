use std::collections::BTreeMap;

use rskafka::chrono::{DateTime, Utc};
use rskafka::record::{Record, RecordAndOffset};
use uuid::Uuid;

use crate::broker::BrokerError;
use crate::record::{HeaderRef, ProducerRecord, RecordBatch, RecordBatchBuilder, TopicPartition};

/// Packs fetched records into a batch that covers the log up to `next_offset`.
pub(super) fn batch(
    partition: &TopicPartition,
    topic_id: Option<Uuid>,
    records: &[RecordAndOffset],
    next_offset: i64,
) -> RecordBatch {
    let bytes = records.iter().map(|record| record.record.approximate_size()).sum();
    let mut builder = RecordBatchBuilder::new(partition.clone(), topic_id).reserve(records.len(), bytes);
    for RecordAndOffset { record, offset } in records {
        let headers =
            record.headers.iter().map(|(name, value)| HeaderRef { name: name.as_bytes(), value: Some(value) });
        let timestamp = record.timestamp.timestamp_millis();
        builder.push(*offset, timestamp, record.key.as_deref(), record.value.as_deref(), headers);
    }
    builder.build(next_offset)
}

/// Translates a record to be produced.
///
/// # Errors
/// [`BrokerError::Unwritable`] for what rskafka's record cannot hold.
pub(super) fn record(doing: &str, record: &ProducerRecord) -> Result<Record, BrokerError> {
    let unwritable = |what: String| BrokerError::Unwritable {
        doing: doing.to_owned(),
        remedy: format!("the rskafka adapter cannot write {what}; see docs/limits.md"),
    };
    let mut headers = BTreeMap::new();
    for header in &record.headers {
        let Ok(name) = std::str::from_utf8(&header.name) else {
            let name = String::from_utf8_lossy(&header.name);
            return Err(unwritable(format!("header {name:?}, whose name is not UTF-8")));
        };
        let Some(value) = &header.value else {
            return Err(unwritable(format!("header {name:?}, whose value is null")));
        };
        if headers.insert(name.to_owned(), value.to_vec()).is_some() {
            return Err(unwritable(format!("header {name:?} twice in one record")));
        }
    }
    let timestamp = match record.timestamp {
        None => Utc::now(),
        Some(millis) => DateTime::from_timestamp_millis(millis)
            .ok_or_else(|| unwritable(format!("timestamp {millis}, which is no date")))?,
    };
    Ok(Record {
        key: record.key.as_ref().map(|key| key.to_vec()),
        value: record.value.as_ref().map(|value| value.to_vec()),
        headers,
        timestamp,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Header;

    fn remedy(produced: ProducerRecord) -> String {
        record("producing", &produced).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let to = || ProducerRecord::to("orders");
        assert!(remedy(to().header("trace", "a").header("trace", "b")).contains(r#"header "trace" twice"#));
        let mut with_null = to();
        with_null.headers.push(Header::null("trace"));
        assert!(remedy(with_null).contains(r#"header "trace", whose value is null"#));
        assert!(remedy(to().header(vec![0xff], "a")).contains("not UTF-8"));
        assert!(remedy(to().timestamp(i64::MAX)).contains("no date"));
    }

    #[test]
    fn null_differs_from_empty_and_timestamps_may_be_negative() {
        let written = record("producing", &ProducerRecord::to("orders").key("").timestamp(-5)).unwrap();
        assert_eq!((written.key, written.value), (Some(Vec::new()), None));
        assert_eq!(written.timestamp.timestamp_millis(), -5);
    }
}
