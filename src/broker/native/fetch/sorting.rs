use std::collections::HashMap;
use std::sync::Arc;

use kafka_protocol::messages::FetchResponse;
use kafka_protocol::messages::fetch_response::PartitionData;
use tokio::time::Instant;
use uuid::Uuid;

use super::answer::{Verdict, judge};
use super::backoff;
use super::broker::{Held, Undecoded};
use super::intake::Chunk;
use super::message::{Doubt, Then};
use super::reading::Reading;
use super::session::Session;
use crate::broker::batch::{AbortedTransaction, scan};
use crate::broker::{BrokerError, ConnectionSettings, ErrorCode, ReadIsolation, SourceProblem};
use crate::record::TopicPartition;

/// What is to be done about an answer.
#[derive(Default)]
pub(super) struct Sorted {
    /// What is to be decoded.
    pub(super) chunks: Vec<(TopicPartition, Chunk)>,
    /// Which readings cannot go on here for now.
    pub(super) leaving: Vec<(TopicPartition, Then)>,
}

/// Goes through an answer, and moves each position by the headers of what came for it. `turn` counts answers.
pub(super) fn sort(
    answer: FetchResponse,
    readings: &mut HashMap<TopicPartition, Held>,
    session: &mut Session,
    turn: u64,
    settings: &ConnectionSettings,
) -> Sorted {
    let names: HashMap<Uuid, Arc<str>> = readings
        .values()
        .filter_map(|held| Some((held.reading.topic_id?, held.reading.partition.shared_topic())))
        .collect();
    let (mut sorted, now) = (Sorted::default(), Instant::now());
    for topic in answer.responses {
        let name = if topic.topic_id.is_nil() {
            Some(Arc::from(&*topic.topic.0))
        } else {
            names.get(&topic.topic_id).cloned()
        };
        let Some(name) = name else { continue };
        for data in topic.partitions {
            let partition = TopicPartition::new(Arc::clone(&name), data.partition_index);
            let Some(held) = readings.get_mut(&partition) else { continue };
            let end = end(&data, settings);
            session.ends_at(&session.key(&partition, held.reading.topic_id), end);
            held.reading.outlet.with_feed(|feed| feed.set_log_end(end));
            // Since the request was sent, reading may have gone back, or begun anew elsewhere.
            if held.asked.take() != Some(held.reading.position.offset) {
                continue;
            }
            match take(&mut held.reading, data, settings) {
                Ok(chunk) => {
                    held.answered = true;
                    held.heard = now;
                    if let Some(chunk) = chunk {
                        held.undecoded =
                            Some(Undecoded { bytes: chunk.records.len(), from: (chunk.from, chunk.epoch) });
                        held.served = turn;
                        sorted.chunks.push((partition, chunk));
                    }
                }
                Err(then) => sorted.leaving.push((partition, then)),
            }
        }
    }
    for held in readings.values_mut() {
        // What was asked for and is not in the answer has no news.
        if held.asked.take() == Some(held.reading.position.offset) {
            let reading = &held.reading;
            if let Some(end) =
                session.end(&session.key(&reading.partition, reading.topic_id)).filter(|_| !held.answered)
            {
                // It was told to who read the partition before.
                reading.outlet.with_feed(|feed| feed.set_log_end(end));
            }
            held.answered = true;
            held.heard = now;
            held.reading.succeeded();
        }
    }
    sorted
}

/// Up to where the log can be read; negative in answers that only tell an error.
fn end(data: &PartitionData, settings: &ConnectionSettings) -> i64 {
    match settings.read_isolation {
        ReadIsolation::ReadCommitted => data.last_stable_offset,
        ReadIsolation::ReadUncommitted => data.high_watermark,
    }
}

fn take(reading: &mut Reading, data: PartitionData, settings: &ConnectionSettings) -> Result<Option<Chunk>, Then> {
    let code = ErrorCode(data.error_code);
    let stale = match judge(code) {
        Verdict::Good => return good(reading, data, settings),
        Verdict::Moved => true,
        Verdict::Later => false,
        Verdict::Denied => {
            reading.failed(reading.response(code));
            return Err(Then::Again { due: Instant::now() + backoff::LONGEST, stale: true });
        }
        Verdict::OutOfRange => return Err(Then::Doubt(Doubt::OutOfRange)),
        Verdict::Unsupported => {
            let remedy = format!(
                "the broker answered {code}: it cannot send what lies there to a client of this version; update the broker"
            );
            reading.stop(SourceProblem::Failed(BrokerError::Unsupported { doing: reading.doing(), remedy }));
            return Err(Then::End);
        }
    };
    let pause = reading.failed(reading.response(code));
    Err(Then::Again { due: Instant::now() + pause, stale })
}

fn good(reading: &mut Reading, data: PartitionData, settings: &ConnectionSettings) -> Result<Option<Chunk>, Then> {
    let asked = reading.position.offset;
    if data.diverging_epoch.end_offset >= 0 {
        return Err(Then::Doubt(Doubt::Truncated { diverged_at: data.diverging_epoch.end_offset.min(asked) }));
    }
    reading.unvalidated = false;
    let end = end(&data, settings);
    let records = data.records.unwrap_or_default();
    if records.is_empty() {
        reading.succeeded();
        return Ok(None);
    }
    let (epoch, found) = (reading.position.epoch, scan(&records, asked));
    if found.next_offset > asked {
        reading.position.move_to(found.next_offset, found.leader_epoch.or(epoch));
        reading.succeeded();
    }
    let committed = settings.read_isolation == ReadIsolation::ReadCommitted;
    let aborted = committed.then(|| {
        let aborted = data.aborted_transactions.unwrap_or_default();
        let one = |one: kafka_protocol::messages::fetch_response::AbortedTransaction| AbortedTransaction {
            producer_id: one.producer_id.0,
            first_offset: one.first_offset,
        };
        aborted.into_iter().map(one).collect()
    });
    Ok(Some(Chunk { from: asked, epoch, records, aborted, end }))
}
