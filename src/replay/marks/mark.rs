use std::sync::Arc;

use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::place::{parse_partition, parse_record};
use crate::record::{RecordId, TopicPartition};

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

/// What became of a dead letter, as its mark says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The id of the dead-letter topic: a mark of another one than it has now says nothing.
    pub(crate) topic_id: Option<Uuid>,
    pub(crate) outcome: Outcome,
    /// When it was sent, in milliseconds since the Unix epoch by the run's clock.
    pub(crate) replayed_at: Option<i64>,
    /// The run that wrote the mark.
    pub(crate) run: RunId,
    /// What its replays have in common; `None` where it was never to be replayed.
    pub(crate) lineage: Option<Lineage>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A run is about to send it.
    Claimed {
        /// For how long the claim holds unless it is renewed, in milliseconds by the broker's clock.
        lease: i64,
        /// Whether it may be sent though it is resolved.
        again: bool,
    },
    /// It was sent.
    Replayed {
        /// Where it is. The topic's id is not known.
        to: RecordId,
    },
    /// It could not be sent.
    Failed {
        /// Why.
        reason: String,
    },
    /// It is not to be sent.
    Discarded {
        /// Why.
        reason: String,
    },
}

/// What all replays of one dead letter have in common, and where their records may be: what
/// [`Delivery::origin`](crate::Delivery::origin) believes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lineage {
    /// In the records' headers as well. The same for each replay of one dead letter, so that one that came twice is known for
    /// what it is.
    pub(crate) replay_id: Uuid,
    /// Where it is sent, or was last.
    pub(crate) target: TopicPartition,
    /// The record that the dead letter, and those that it stems from, were made of first; `None` where it is not known.
    pub(crate) origin: Option<RecordId>,
    /// How often it has been replayed with this one, which is in the record's headers.
    pub(crate) count: u32,
    /// Where records of earlier replays are.
    pub(crate) also_at: Vec<RecordId>,
    /// Where there may be records of which nobody knows the offset: of runs that died, and of sends that were not answered.
    pub(crate) maybe_at: Vec<TopicPartition>,
}

impl Lineage {
    /// Adds a place where there may be a record.
    pub(crate) fn doubt(&mut self, target: TopicPartition) {
        if !self.maybe_at.contains(&target) {
            self.maybe_at.push(target);
        }
    }
}

/// Who wrote a mark. Displays as `host:pid`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunId {
    pub(crate) id: Uuid,
    pub(crate) host: Arc<str>,
    pub(crate) pid: u32,
}

impl RunId {
    /// A run of this process.
    pub(crate) fn new() -> Self {
        let host = gethostname::gethostname();
        Self { id: Uuid::new_v4(), host: host.to_string_lossy().into(), pid: std::process::id() }
    }

    /// Stands for whoever it was, where nobody asks.
    pub(super) fn nobody() -> Self {
        Self { id: Uuid::nil(), host: "".into(), pid: 0 }
    }
}

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.pid)
    }
}

impl Mark {
    /// Whether it says that the record `at` is a replay of this id. That of a claim may lie anywhere in its target.
    pub(crate) fn vouches_for(&self, replay_id: Uuid, at: &RecordId) -> bool {
        let Some(lineage) = self.lineage.as_ref().filter(|lineage| lineage.replay_id == replay_id) else {
            return false;
        };
        let is_at = |record: &RecordId| record.partition == at.partition && record.offset == at.offset;
        let by_outcome = match &self.outcome {
            Outcome::Claimed { .. } => lineage.target == at.partition,
            Outcome::Replayed { to } => is_at(to),
            Outcome::Failed { .. } | Outcome::Discarded { .. } => false,
        };
        by_outcome || lineage.also_at.iter().any(is_at) || lineage.maybe_at.contains(&at.partition)
    }

    /// The JSON value.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let (mut replay_result, mut reason, mut lease_ms, mut again) = (None, None, None, false);
        let state = match &self.outcome {
            Outcome::Claimed { lease, again: once_more } => {
                (lease_ms, again) = (Some(*lease), *once_more);
                "claimed"
            }
            Outcome::Replayed { to } => {
                replay_result = Some(format!("{SUCCESS}{to}"));
                "replayed"
            }
            Outcome::Failed { reason } => {
                replay_result = Some(format!("{FAILED}{reason}"));
                "failed"
            }
            Outcome::Discarded { reason: why } => {
                reason = Some(why.clone());
                "discarded"
            }
        };
        let lineage = self.lineage.as_ref();
        let wire = Wire {
            version: VERSION,
            state: state.to_owned(),
            dead_letter_topic_id: self.topic_id.map(|id| id.to_string()),
            replayed: matches!(self.outcome, Outcome::Replayed { .. }),
            replayed_at: self.replayed_at.and_then(rfc3339),
            replay_result,
            reason,
            lease_ms,
            again,
            run: WireRun { id: self.run.id.to_string(), host: self.run.host.to_string(), pid: self.run.pid },
            replay_id: lineage.map(|lineage| lineage.replay_id.to_string()),
            target: lineage.map(|lineage| WireTarget {
                topic: lineage.target.topic().to_owned(),
                partition: lineage.target.partition(),
            }),
            origin: lineage.and_then(|lineage| lineage.origin.as_ref()).map(|origin| WireOrigin {
                topic: origin.partition.topic().to_owned(),
                topic_id: origin.topic_id.map(|id| id.to_string()),
                partition: origin.partition.partition(),
                offset: origin.offset,
            }),
            replay_count: lineage.map_or(0, |lineage| lineage.count),
            also_at: lineage.into_iter().flat_map(|it| &it.also_at).map(ToString::to_string).collect(),
            maybe_at: lineage.into_iter().flat_map(|it| &it.maybe_at).map(ToString::to_string).collect(),
        };
        // All of it is text and numbers, which can always be written.
        serde_json::to_vec(&wire).unwrap_or_default()
    }

    /// Reads a JSON value; `None` where it is none of this version.
    pub(crate) fn from_json(value: &[u8]) -> Option<Self> {
        let version: Version = serde_json::from_slice(value).ok()?;
        if version.version != VERSION {
            return None;
        }
        let wire: Wire = serde_json::from_slice(value).ok()?;
        let result = wire.replay_result.as_deref().unwrap_or_default();
        let outcome = match wire.state.as_str() {
            "claimed" => Outcome::Claimed { lease: wire.lease_ms?.max(0), again: wire.again },
            "replayed" => Outcome::Replayed { to: parse_record(result.strip_prefix(SUCCESS)?)? },
            "failed" => Outcome::Failed { reason: result.strip_prefix(FAILED)?.to_owned() },
            "discarded" => Outcome::Discarded { reason: wire.reason? },
            _ => return None,
        };
        let replay_id = wire.replay_id.as_deref().map(Uuid::parse_str).transpose().ok()?;
        let target = wire.target.map(|target| target.partition().ok_or(())).transpose().ok()?;
        let lineage = match (replay_id, target) {
            (Some(replay_id), Some(target)) => Some(Lineage {
                replay_id,
                target,
                origin: wire.origin.map(|origin| origin.record().ok_or(())).transpose().ok()?,
                count: wire.replay_count,
                also_at: wire.also_at.iter().map(|at| parse_record(at)).collect::<Option<_>>()?,
                maybe_at: wire.maybe_at.iter().map(|at| parse_partition(at)).collect::<Option<_>>()?,
            }),
            _ => None,
        };
        if lineage.is_none() && !matches!(outcome, Outcome::Discarded { .. }) {
            return None;
        }
        Some(Self {
            topic_id: wire.dead_letter_topic_id.as_deref().map(Uuid::parse_str).transpose().ok()?,
            outcome,
            replayed_at: wire.replayed_at.as_deref().and_then(millis),
            run: RunId { id: Uuid::parse_str(&wire.run.id).ok()?, host: wire.run.host.into(), pid: wire.run.pid },
            lineage,
        })
    }
}

const SUCCESS: &str = "success: ";
const FAILED: &str = "failed: ";

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    version: u32,
    state: String,
    dead_letter_topic_id: Option<String>,
    replayed: bool,
    replayed_at: Option<String>,
    replay_result: Option<String>,
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    again: bool,
    run: WireRun,
    replay_id: Option<String>,
    target: Option<WireTarget>,
    origin: Option<WireOrigin>,
    #[serde(default)]
    replay_count: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    also_at: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    maybe_at: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct WireRun {
    id: String,
    host: String,
    pid: u32,
}

#[derive(Serialize, Deserialize)]
struct WireTarget {
    topic: String,
    partition: i32,
}

impl WireTarget {
    fn partition(self) -> Option<TopicPartition> {
        let known = !self.topic.is_empty() && self.partition >= 0;
        known.then(|| TopicPartition::new(self.topic, self.partition))
    }
}

#[derive(Serialize, Deserialize)]
struct WireOrigin {
    topic: String,
    topic_id: Option<String>,
    partition: i32,
    offset: i64,
}

impl WireOrigin {
    fn record(self) -> Option<RecordId> {
        let topic_id = self.topic_id.as_deref().map(Uuid::parse_str).transpose().ok()?;
        let known = !self.topic.is_empty() && self.partition >= 0 && self.offset >= 0;
        let partition = TopicPartition::new(self.topic, self.partition);
        known.then_some(RecordId { topic_id, partition, offset: self.offset })
    }
}

fn rfc3339(at: i64) -> Option<String> {
    Some(DateTime::from_timestamp_millis(at)?.to_rfc3339_opts(SecondsFormat::Millis, true))
}

fn millis(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_millis())
}

#[cfg(test)]
pub(super) mod tests;
