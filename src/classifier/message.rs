use std::time::Duration;

use ractor::RpcReplyPort;

use super::Evidence;
use crate::broker::BrokerError;
use crate::dead_letter::Rung;
use crate::policy::{Category, Decision};

/// What the classifier is asked.
#[derive(Debug)]
pub(crate) enum ClassifierMessage {
    /// A delivery failed.
    Judge {
        evidence: Box<Evidence>,
        /// Which attempt failed, 1 for the first.
        attempt: u32,
        /// Gives the evidence back.
        reply: RpcReplyPort<(Verdict, Box<Evidence>)>,
    },
    /// Dead letters could not be published.
    JudgePublishing {
        error: BrokerError,
        /// How many dead letters the refused batch had.
        batch: usize,
        /// How much of the first one was in it.
        rung: Rung,
        /// How many times in a row publishing there has failed, this time included.
        failures: u32,
        reply: RpcReplyPort<PublishVerdict>,
    },
}

/// What is done about a failed delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) category: Category,
    pub(crate) decision: Decision,
    /// How many attempts the category's policy allows.
    pub(crate) max_attempts: u32,
    pub(crate) alert: bool,
    pub(crate) page: bool,
}

/// What is done about dead letters that could not be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PublishVerdict {
    /// Publish the same again after a wait.
    Retry(Duration),
    /// Publish each alone, since one of them is refused.
    Split,
    /// Publish with less.
    Reduce(Rung),
}
