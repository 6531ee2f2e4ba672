use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Reply;
use super::fate::is_about_leader;
use super::line::{Done, Limits, Line};
use super::troubles::Troubles;
use crate::broker::{BrokerError, ErrorCode};
use crate::record::{ProducerRecord, TopicPartition};

/// How long a topic or partition that metadata does not show is waited for: one that was just created is not known to every
/// broker yet.
const UNKNOWN_FOR: Duration = Duration::from_secs(1);

/// A partition's line, and what is known of its leader.
pub(super) struct Slot {
    pub(super) partition: TopicPartition,
    /// What is being done, for errors.
    pub(super) doing: Arc<str>,
    pub(super) line: Line<ProducerRecord, Reply>,
    pub(super) leader: Leadership,
    /// Since when metadata has not shown it.
    unknown_since: Option<Instant>,
    /// Whether the driver looks at it.
    pub(super) active: bool,
    /// Whether it is told that its records wait because of a failure.
    troubled: bool,
}

/// How far the leader known is to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leadership {
    /// As far as we know it leads.
    Believed,
    /// Metadata must be asked for again.
    Stale,
    /// Metadata is being asked for.
    Asked,
}

impl Slot {
    pub(super) fn new(partition: TopicPartition, limits: Limits) -> Self {
        Self {
            doing: format!("producing to {partition}").into(),
            partition,
            line: Line::new(limits),
            leader: Leadership::Believed,
            unknown_since: None,
            active: false,
            troubled: false,
        }
    }

    /// Looks at what fresh metadata says of its leader. `found` is `None` or an error where it shows none.
    pub(super) fn learn(
        &mut self,
        found: Option<Result<(), ErrorCode>>,
        now: Instant,
        random: f64,
    ) -> Vec<Done<Reply>> {
        let code = match found {
            Some(Ok(())) => {
                self.unknown_since = None;
                self.leader = Leadership::Believed;
                return Vec::new();
            }
            Some(Err(code)) => code,
            None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        };
        self.leader = Leadership::Stale;
        let error = BrokerError::Response { doing: self.doing.to_string(), code, message: None };
        let patience = match code {
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => now < *self.unknown_since.get_or_insert(now) + UNKNOWN_FOR,
            _ => code.is_retriable(),
        };
        if patience {
            self.line.hold_back(error, now, random);
            Vec::new()
        } else {
            self.line.give_up(&error)
        }
    }

    /// Tells whether, and why, its records wait.
    pub(super) fn tell_trouble(&mut self, troubles: &Troubles) {
        let trouble = self.line.cause().filter(|_| self.active);
        if self.troubled || trouble.is_some() {
            troubles.set(&self.partition, trouble);
        }
        self.troubled = trouble.is_some();
    }

    /// Takes note of an error of a batch: it may be that the leader has moved.
    pub(super) fn doubt_leader(&mut self, error: &BrokerError) {
        // One that is being asked for now may be the one from before.
        if is_about_leader(error) {
            self.leader = Leadership::Stale;
        }
    }

    /// Ends what has run out of time.
    pub(super) fn expire(&mut self, now: Instant, after: Duration) -> Vec<Done<Reply>> {
        let doing = &self.doing;
        self.line.expire(now, |cause| BrokerError::Timeout {
            doing: match cause {
                Some(cause) => format!("{doing} (last failure: {cause})"),
                None => doing.to_string(),
            },
            after,
        })
    }
}
