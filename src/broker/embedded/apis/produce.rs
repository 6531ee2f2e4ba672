//! Produce, versions 3 to 13.
//!
//! - 3: batches of magic 2 only, one per partition. 5: log start offset in the answer. 7: zstd may be used.
//! - 8: error texts and the records at fault. 9: flexible. 10: the current leader beside an error.
//! - 11, 12: nothing new in shape (12 may add partitions to transactions of their second version, not served). 13: topics by id.
//!
//! Batches are checked (length, magic, CRC-32C, records) and stored as they came, base offset and leader epoch set.

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::produce_request::PartitionProduceData;
use kafka_protocol::messages::produce_response::{
    BatchIndexAndErrorMessage, PartitionProduceResponse, TopicProduceResponse,
};
use kafka_protocol::messages::{ProduceRequest, ProduceResponse};

use super::super::core::Call;
use super::super::log::{Appended, keys};
use super::super::shape::{Kind, Shape, always, since, until};
use super::super::state::{Refused, State};
use super::super::topics::Topic;
use super::super::transactions::{Claim, Transactions};
use super::{OK, resolve, text};
use crate::broker::batch::{BatchError, BatchHeader};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 9,
    fields: &[
        always(Kind::Text),
        always(Kind::Fixed(2)),
        always(Kind::Fixed(4)),
        always(Kind::Structs(&[
            until(12, Kind::Text),
            since(13, Kind::Fixed(16)),
            always(Kind::Structs(&[always(Kind::Fixed(4)), always(Kind::Blob)])),
        ])),
    ],
};

/// What a produce request comes to.
pub(in super::super) enum Done {
    Answer(ProduceResponse),
    /// The client wants no acknowledgement.
    Silence,
    /// The client wants no acknowledgement, and something failed: closing is all that can tell it.
    Close,
}

pub(in super::super) fn handle(state: &mut State, call: &Call<'_>, request: &ProduceRequest) -> Done {
    let refused = if !matches!(request.acks, -1..=1) {
        Some(Refused::new(ResponseError::InvalidRequiredAcks, "Acks must be 0, 1 or -1."))
    } else {
        None
    };
    let mut failed = false;
    let topics = request.topic_data.iter().map(|data| {
        let name = resolve(&state.topics, call.version, 13, &data.name, data.topic_id);
        let partitions = data.partition_data.iter().map(|data| {
            let answer = PartitionProduceResponse::default().with_index(data.index);
            let injected = name.as_ref().ok().and_then(|name| call.errors.partition(name, data.index));
            let answer = match (injected, &refused, &name) {
                (Some(code), _, _) => failure(answer, code, "Injected fault."),
                (None, Some(refused), _) => failure(answer, refused.error.code(), &refused.message),
                (None, None, Err(error)) => failure(answer, error.code(), "Unknown topic."),
                (None, None, Ok(name)) => match append(state, call, name, data, request) {
                    Ok((base_offset, log_start, append_time)) => answer
                        .with_base_offset(base_offset)
                        .with_log_start_offset(log_start)
                        .with_log_append_time_ms(append_time.unwrap_or(-1)),
                    Err(refusal) => refusal.fill(answer),
                },
            };
            failed |= answer.error_code != OK;
            suit(answer, call.version)
        });
        let partitions = partitions.collect();
        TopicProduceResponse::default()
            .with_name(data.name.clone())
            .with_topic_id(data.topic_id)
            .with_partition_responses(partitions)
    });
    let topics = topics.collect();
    match (request.acks, failed) {
        (0, false) => Done::Silence,
        (0, true) => Done::Close,
        _ => Done::Answer(ProduceResponse::default().with_responses(topics)),
    }
}

/// A refusal, and the indexes of the records at fault where it is about records.
struct Refusal {
    refused: Refused,
    records: Vec<i32>,
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Self { refused, records: Vec::new() }
    }
}

impl Refusal {
    fn fill(self, answer: PartitionProduceResponse) -> PartitionProduceResponse {
        let message = &self.refused.message;
        let records = self.records.into_iter().map(|index| {
            BatchIndexAndErrorMessage::default()
                .with_batch_index(index)
                .with_batch_index_error_message(Some(text(message)))
        });
        failure(answer, self.refused.error.code(), message).with_record_errors(records.collect())
    }
}

/// Appends the batch of one partition; returns its offset, the log's start, and the time set on it, if one was.
fn append(
    state: &mut State,
    call: &Call<'_>,
    topic: &str,
    data: &PartitionProduceData,
    request: &ProduceRequest,
) -> Result<(i64, i64, Option<i64>), Refusal> {
    let unknown = || Refused::new(ResponseError::UnknownTopicOrPartition, "Unknown topic or partition.");
    let topic = state.topics.get_mut(topic).ok_or_else(unknown)?;
    if topic.log(data.index).is_none() {
        return Err(unknown().into());
    }
    let nothing = Bytes::new();
    let bytes = data.records.as_ref().unwrap_or(&nothing);
    let header = check(topic, bytes)?;
    if header.is_transactional() {
        check_transaction(&state.transactions, request, &header, &topic.name, data.index)?;
    }
    if request.acks == -1 && topic.configs.min_insync_replicas() > 1 {
        let message = "The topic wants more replicas in sync than there are brokers.";
        return Err(Refused::new(ResponseError::NotEnoughReplicas, message).into());
    }
    let append_time = topic.configs.is_append_time().then_some(call.now.wall_millis);
    let id = topic.id;
    let log = topic.log_mut(data.index).ok_or_else(unknown)?;
    let appended = log.produce(header, bytes, append_time).map_err(|error| {
        let message = format!(
            "Producer {} epoch {} sequence {}: {error:?}",
            header.producer_id, header.producer_epoch, header.base_sequence
        );
        Refused::new(error, message)
    })?;
    let start = log.start();
    match appended {
        Appended::At(offset) => {
            state.touch(id, data.index);
            Ok((offset, start, append_time))
        }
        Appended::Before(offset) => Ok((offset, start, append_time)),
    }
}

/// Checks what a producer sent for one partition of `topic`.
fn check(topic: &Topic, bytes: &Bytes) -> Result<BatchHeader, Refusal> {
    let invalid = |message: &str| Refused::new(ResponseError::InvalidRecord, message);
    let header = BatchHeader::check(bytes).map_err(|error| match error {
        BatchError::TooShort(0) => invalid("A produce request must hold one record batch per partition."),
        BatchError::Crc { .. } => Refused::new(ResponseError::CorruptMessage, error.to_string()),
        _ => Refused::new(ResponseError::InvalidRecord, error.to_string()),
    })?;
    if header.size != bytes.len() {
        return Err(invalid("A produce request must hold no more than one record batch per partition.").into());
    }
    let most = topic.configs.max_message_bytes();
    if header.size > most {
        let message = format!("The record batch has {} bytes, max.message.bytes is {most}.", header.size);
        return Err(Refused::new(ResponseError::MessageTooLarge, message).into());
    }
    if header.is_control() {
        return Err(invalid("Clients must not write control records.").into());
    }
    if header.count < 1 || i64::from(header.count) != i64::from(header.last_offset_delta) + 1 {
        let (count, delta) = (header.count, header.last_offset_delta);
        return Err(invalid(&format!("{count} records do not fit a last offset delta of {delta}.")).into());
    }
    if header.producer_id >= 0 && (header.producer_epoch < 0 || header.base_sequence < 0) {
        return Err(invalid("A batch with a producer id needs an epoch and a sequence number.").into());
    }
    let problem = if header.is_compressed() { ResponseError::CorruptMessage } else { ResponseError::InvalidRecord };
    let keys = keys(&header, bytes).ok_or_else(|| Refused::new(problem, "The records are not as the batch states."))?;
    if topic.configs.is_compacted() {
        let keyless = keys.iter().enumerate().filter(|(_, has_key)| !**has_key);
        let records: Vec<i32> = keyless.map(|(index, _)| index as i32).collect();
        if !records.is_empty() {
            let refused = invalid("Compacted topic cannot accept message without key.");
            return Err(Refusal { refused, records });
        }
    }
    Ok(header)
}

/// Checks that a batch belongs to a transaction that is open and holds its partition.
fn check_transaction(
    transactions: &Transactions,
    request: &ProduceRequest,
    header: &BatchHeader,
    topic: &str,
    partition: i32,
) -> Result<(), Refused> {
    let Some(id) = &request.transactional_id else {
        let message = "A transactional batch needs a transactional id.";
        return Err(Refused::new(ResponseError::TransactionalIdAuthorizationFailed, message));
    };
    let claim = Claim { transactional_id: id, producer_id: header.producer_id, epoch: header.producer_epoch };
    transactions.may_write(claim, topic, partition).map_err(|error| {
        let (producer, epoch) = (claim.producer_id, claim.epoch);
        Refused::new(error, format!("Transactional id {}, producer {producer} epoch {epoch}: {error:?}", &***id))
    })
}

fn failure(answer: PartitionProduceResponse, code: i16, message: &str) -> PartitionProduceResponse {
    answer
        .with_error_code(code)
        .with_base_offset(-1)
        .with_log_append_time_ms(-1)
        .with_log_start_offset(-1)
        .with_error_message(Some(text(message)))
}

/// Leaves out what the version does not have.
fn suit(mut answer: PartitionProduceResponse, version: i16) -> PartitionProduceResponse {
    if version < 8 {
        answer.error_message = None;
        answer.record_errors = Vec::new();
    }
    if version < 5 {
        answer.log_start_offset = -1;
    }
    answer
}
