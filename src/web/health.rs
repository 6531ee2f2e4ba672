use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::ConsumerHandle;
use crate::consumer::{PartitionState, PartitionStatus};
use crate::event::PresentState;
use crate::metrics::{Counts, TopicCounts};

/// How long a consumer may take to say what its partitions do.
const PATIENCE: Duration = Duration::from_secs(3);

/// How one consumer is.
#[derive(Debug)]
pub(super) struct Health {
    group: String,
    joined: bool,
    partitions: Partitions,
    present: PresentState,
    counts: Counts,
}

/// What is known of the partitions.
#[derive(Debug)]
enum Partitions {
    /// What each does.
    Known(Vec<PartitionStatus>),
    /// The consumer did not answer in time.
    Silent,
    /// The consumer has ended.
    Ended,
}

/// Asks a consumer.
pub(super) async fn of(consumer: &ConsumerHandle) -> Health {
    let partitions = match timeout(PATIENCE, consumer.status()).await {
        Ok(Some(partitions)) => Partitions::Known(partitions),
        Ok(None) => Partitions::Ended,
        Err(_) => Partitions::Silent,
    };
    Health {
        group: consumer.meter().group().to_owned(),
        joined: consumer.has_joined(),
        partitions,
        present: consumer.present(),
        counts: consumer.counts(),
    }
}

impl Health {
    /// Why the consumer is not ready; nothing where it is.
    fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        match &self.partitions {
            Partitions::Ended => reasons.push("the consumer has ended".to_owned()),
            Partitions::Silent => {
                let limit = humantime::format_duration(PATIENCE);
                reasons.push(format!("the consumer did not answer within {limit}"));
            }
            Partitions::Known(partitions) => {
                let stopped = partitions.iter().filter(|status| status.state == PartitionState::Stopped);
                reasons.extend(stopped.map(|status| match self.present.stopped.get(&status.partition) {
                    Some(reason) => format!("partition {} is stopped: {reason}", status.partition),
                    None => format!("partition {} is stopped", status.partition),
                }));
            }
        }
        if let Some(reason) = &self.present.stopping {
            reasons.push(format!("the consumer stops: {reason}"));
        } else if !self.joined && !matches!(self.partitions, Partitions::Ended) {
            reasons.push(match &self.present.group {
                Some(trouble) => format!("it is not a member of its group: {trouble}"),
                None => "it is not a member of its group yet, or not any more".to_owned(),
            });
        }
        reasons
    }

    pub(super) fn is_ready(&self) -> bool {
        self.reasons().is_empty()
    }

    /// Whether it is ready, or why not.
    pub(super) fn readiness(&self) -> Value {
        let reasons = self.reasons();
        json!({ "group": self.group, "ready": reasons.is_empty(), "reasons": reasons })
    }

    /// All that is known.
    pub(super) fn details(&self) -> Value {
        let mut details = self.readiness();
        let partitions = match &self.partitions {
            Partitions::Known(partitions) => partitions.iter().map(|status| self.partition(status)).collect(),
            Partitions::Silent | Partitions::Ended => Vec::new(),
        };
        let held = self.present.held.iter().map(|((topic, partition), reason)| {
            json!({ "dead_letter_topic": topic, "source_partition": partition, "reason": reason })
        });
        let topics = self.counts.topics.iter().map(|(topic, counts)| (topic.clone(), numbers(counts)));
        details["joined"] = json!(self.joined);
        details["partitions"] = Value::Array(partitions);
        details["held"] = held.collect();
        details["commits_failing"] = json!(self.present.commits);
        details["group_trouble"] = json!(self.present.group);
        details["counts"] = json!({
            "total": numbers(&self.counts.total),
            "topics": Value::Object(topics.collect()),
        });
        details
    }

    fn partition(&self, status: &PartitionStatus) -> Value {
        let retrying = status.retrying.map(|(offset, attempts)| json!({ "offset": offset, "attempts": attempts }));
        json!({
            "topic": status.partition.topic(),
            "partition": status.partition.partition(),
            "state": format!("{:?}", status.state).to_lowercase(),
            "reason": self.reason(status),
            "position": status.position,
            "watermark": status.watermark,
            "committed": status.committed,
            "log_end": status.log_end,
            "lag": status.lag,
            "in_flight": status.in_flight,
            "unacknowledged": status.unacknowledged,
            "paused": status.paused,
            "retrying": retrying,
        })
    }

    /// Why a partition does not simply run; `None` where there is nothing to tell.
    fn reason(&self, status: &PartitionStatus) -> Option<String> {
        let (partition, present) = (&status.partition, &self.present);
        match status.state {
            PartitionState::Stopped => present.stopped.get(partition).cloned(),
            PartitionState::Restarting => present.restarting.get(partition).cloned(),
            PartitionState::Held => {
                let mut held = present.held.iter().filter(|((_, source), _)| *source == partition.partition());
                let waiting = format!("{} dead letters wait for the broker's acknowledgement", status.unacknowledged);
                Some(
                    held.next()
                        .map_or(waiting.clone(), |((topic, _), reason)| format!("{waiting} ({topic}: {reason})")),
                )
            }
            PartitionState::Paused => Some("it was paused by the consumer's handle".to_owned()),
            _ => present.unreadable.get(partition).map(|reason| format!("it cannot be read for now: {reason}")),
        }
    }
}

fn numbers(counts: &TopicCounts) -> Value {
    json!({
        "handled": counts.handled,
        "failed": counts.failed,
        "retried": counts.retried,
        "dead_lettered": counts.dead_lettered,
        "poison": counts.poison,
        "skipped": counts.skipped,
        "alerts": counts.alerts,
        "handlers_lost": counts.handlers_lost,
        "restarts": counts.restarts,
        "partitions_lost": counts.partitions_lost,
    })
}
