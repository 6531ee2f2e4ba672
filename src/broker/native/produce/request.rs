use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{ProduceRequest, ProduceResponse};

use super::super::call::Call;
use super::super::topics::topic_name;
use super::fate::Fate;
use crate::broker::{BrokerError, ErrorCode};
use crate::record::TopicPartition;

/// The acknowledgement of all in-sync replicas.
const ACKS_ALL: i16 = -1;

/// The request for one batch each of several partitions, which the broker answers within `timeout_millis`.
pub(super) fn build(batches: &[(TopicPartition, Bytes)], timeout_millis: i32) -> ProduceRequest {
    let mut topics: BTreeMap<&str, Vec<PartitionProduceData>> = BTreeMap::new();
    for (partition, bytes) in batches {
        let data = PartitionProduceData::default().with_index(partition.partition()).with_records(Some(bytes.clone()));
        topics.entry(partition.topic()).or_default().push(data);
    }
    let topics = topics.into_iter().map(|(topic, partitions)| {
        TopicProduceData::default().with_name(topic_name(topic)).with_partition_data(partitions)
    });
    ProduceRequest::default().with_acks(ACKS_ALL).with_timeout_ms(timeout_millis).with_topic_data(topics.collect())
}

/// What the answer says of each of `partitions`, in their order.
pub(super) fn fates(answer: &ProduceResponse, partitions: &[(TopicPartition, Arc<str>)], call: &Call) -> Vec<Fate> {
    let mut found: HashMap<(&str, i32), &PartitionProduceResponse> = HashMap::new();
    for topic in &answer.responses {
        found.extend(topic.partition_responses.iter().map(|one| ((&*topic.name.0, one.index), one)));
    }
    let fates =
        partitions.iter().map(|(partition, doing)| match found.get(&(partition.topic(), partition.partition())) {
            Some(one) => Fate::of(one.error_code, one.base_offset, || error(one, doing)),
            None => Fate::Unclear(call.part(Arc::clone(doing)).malformed("the partition is missing")),
        });
    fates.collect()
}

fn error(answer: &PartitionProduceResponse, doing: &str) -> BrokerError {
    let mut message = answer.error_message.as_ref().map(|text| text.to_string()).unwrap_or_default();
    if let Some(record) = answer.record_errors.first() {
        let text = record.batch_index_error_message.as_ref().map_or("refused", |text| text.as_str());
        message = format!("{message} (record {} of the batch: {text})", record.batch_index).trim_start().to_owned();
    }
    let message = Some(message).filter(|message| !message.is_empty());
    BrokerError::Response { doing: doing.to_owned(), code: ErrorCode(answer.error_code), message }
}
