use tracing::{debug, error, info, warn};

use super::{Event, Exhausted};
use crate::policy::Category::{Poison, Validation};

/// Levels: start, stop, retry, published = info; validation and exhausted = warn; poison and holds = error.
pub(super) fn log(event: &Event) {
    match event {
        Event::Started { group, partitions } => info!(group, partitions, "consumer started"),
        Event::Assigned { partition, offset, reset } => {
            info!(topic = partition.topic(), partition = partition.partition(), offset, reset, "partition assigned");
        }
        Event::Revoked { partition, committed } => {
            info!(
                topic = partition.topic(),
                partition = partition.partition(),
                committed,
                "partition given up to the group"
            );
        }
        Event::Lost { partition, reason } => {
            warn!(
                topic = partition.topic(),
                partition = partition.partition(),
                "partition lost, nothing more of it is committed: {reason}"
            );
        }
        Event::Paused { partition } => {
            info!(topic = partition.topic(), partition = partition.partition(), "partition paused");
        }
        Event::Resumed { partition } => {
            info!(topic = partition.topic(), partition = partition.partition(), "partition resumed");
        }
        Event::Sought { partition, from, to } => {
            info!(
                topic = partition.topic(),
                partition = partition.partition(),
                from,
                to,
                "partition goes on at another offset, as asked"
            );
        }
        // The group actor has logged these two at higher levels, with what it knows besides.
        Event::Joined { group, member_id, epoch, protocol, assignor, partitions } => {
            debug!(group, member_id, epoch, protocol, assignor, partitions, "joined the group");
        }
        Event::TopicMissing { topic } => debug!(topic, "the topic does not exist, waiting for it"),
        Event::GroupRecovered => info!("the group can be reached and answers again"),
        Event::GroupTrouble { reason } => warn!("trouble with the group, trying again: {reason}"),
        Event::Retrying { record, category, error_type, message, attempt, max_attempts, backoff } => info!(
            topic = record.partition.topic(), partition = record.partition.partition(), offset = record.offset,
            %category, error_type, attempt, max_attempts, ?backoff, "delivery failed, retrying after the wait: {message}"
        ),
        Event::Exhausted { record, category, error_type, message, attempts, dead_letter_topic } => {
            let (category, attempts) = (*category, *attempts);
            exhausted(Exhausted { record, category, error_type, message, attempts, dead_letter_topic });
        }
        Event::DeadLettered {
            record,
            category,
            error_type,
            attempts,
            dead_letter,
            dead_letter_offset,
            left_out,
            ..
        } => info!(
            topic = record.partition.topic(), partition = record.partition.partition(), offset = record.offset,
            %category, error_type, attempts, dead_letter_topic = dead_letter.topic(),
            dead_letter_partition = dead_letter.partition(), dead_letter_offset, left_out, "dead letter published"
        ),
        Event::Alert { record, category, page, message } => error!(
            topic = record.partition.topic(), partition = record.partition.partition(), offset = record.offset,
            %category, page, "alert: record given up: {message}"
        ),
        Event::Skipped { record, category, message } => warn!(
            topic = record.partition.topic(), partition = record.partition.partition(), offset = record.offset,
            %category, "record skipped by policy, it is in no dead-letter topic: {message}"
        ),
        Event::HandlerLost { record, fault, message, location } => error!(
            topic = record.partition.topic(),
            partition = record.partition.partition(),
            offset = record.offset,
            fault,
            location,
            "handler lost, a fresh one takes its place: {message}"
        ),
        Event::RestartScheduled { partition, reason, restarts, backoff } => error!(
            topic = partition.topic(),
            partition = partition.partition(),
            restarts,
            ?backoff,
            "partition actor failed, restarting after the wait: {reason}"
        ),
        Event::PartitionStopped { partition, offset, reason } => error!(
            topic = partition.topic(),
            partition = partition.partition(),
            offset,
            "partition stopped, its records wait from this offset on: {reason}"
        ),
        Event::Held { dead_letter, reason, waiting } => error!(
            topic = dead_letter.topic(),
            partition = dead_letter.partition(),
            waiting,
            "dead letters cannot be published, their records stay uncommitted; trying again: {reason}"
        ),
        Event::Released { dead_letter } => {
            info!(topic = dead_letter.topic(), partition = dead_letter.partition(), "dead letters are published again");
        }
        Event::DeadLetterReduced { record, left_out, reason } => error!(
            topic = record.partition.topic(),
            partition = record.partition.partition(),
            offset = record.offset,
            left_out,
            "the broker refuses the dead letter, publishing it with less: {reason}"
        ),
        Event::ReadFailing { partition, reason } => {
            warn!(
                topic = partition.topic(),
                partition = partition.partition(),
                "reading fails, trying again: {reason}"
            );
        }
        Event::ReadRecovered { partition } => {
            info!(topic = partition.topic(), partition = partition.partition(), "reading works again");
        }
        Event::OffsetReset { partition, from, to, reason } => error!(
            topic = partition.topic(),
            partition = partition.partition(),
            from,
            to,
            "the offset to read is not in the log, the reset policy chose another: {reason}"
        ),
        Event::Committed { partitions } => debug!(partitions, "offsets committed"),
        Event::CommitFailing { reason } => error!("offsets cannot be committed, trying again: {reason}"),
        Event::HookFailed { hook, message } => error!(hook, "user code failed, built-in behaviour used: {message}"),
        Event::Stopping { reason } => info!("consumer stopping: {reason}"),
        Event::Stopped => info!("consumer stopped"),
        Event::Missed(_) => {}
    }
}

pub(super) fn exhausted(event: Exhausted<'_>) {
    let Exhausted { record, category, error_type, message, attempts, dead_letter_topic } = event;
    let (topic, partition, offset) = (record.partition.topic(), record.partition.partition(), record.offset);
    match category {
        Poison => error!(
            topic, partition, offset, %category, error_type, attempts, dead_letter_topic,
            "poison pill, sending to the dead-letter topic: {message}"
        ),
        Validation => warn!(
            topic, partition, offset, %category, error_type, attempts, dead_letter_topic,
            "invalid record, sending to the dead-letter topic: {message}"
        ),
        _ => warn!(
            topic, partition, offset, %category, error_type, attempts, dead_letter_topic,
            "attempts exhausted, sending to the dead-letter topic: {message}"
        ),
    }
}
