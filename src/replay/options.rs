use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::fix::Fix;

/// How dead letters are replayed; every field has a default.
#[derive(Clone)]
#[non_exhaustive]
pub struct ReplayOptions {
    /// The topic to send to; default: each one's own source. It must be the source that the name of the dead-letter topic vouches
    /// for, or one of [`allowed_targets`](Self::allowed_targets).
    pub target: Option<Arc<str>>,
    /// Topics that may be sent to besides the source that the name of the dead-letter topic vouches for (`orders.dlq`,
    /// `orders.dlq.poison` for `orders`). Names exactly. What dead letters themselves say of their source is not believed: anybody
    /// who may write to a dead-letter topic can write anything there.
    pub allowed_targets: Vec<Arc<str>>,
    /// Only says what would be done; all count as skipped. Default false.
    pub dry_run: bool,
    /// Changes each record before it is sent; one that fails counts as failed, and its letter stays as it is.
    pub fix: Option<Fix>,
    /// The most records per second; default no limit.
    pub rate: Option<NonZeroU32>,
    /// How many records may be under way, which is how many may be doubled if the run dies. Default 100.
    pub in_flight: NonZeroU32,
    /// Records that were replayed as often as this are parked: skipped, and left. Default 3.
    pub max_replays: u32,
    /// Replays also those that are replayed or discarded already: a filter for unresolved ones means all then. Default false.
    pub again: bool,
    /// Ends at the first failure. Default false.
    pub stop_at_first_error: bool,
    /// The timestamps that the records get. Default [`ReplayTimestamp::Original`].
    pub timestamp: ReplayTimestamp,
    /// How long another run leaves alone what this one has claimed, should this one fall silent. It is renewed while the run
    /// lives. Default 30 s; at least 1 s.
    pub claim_lease: Duration,
}

/// Which timestamps replayed records get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ReplayTimestamp {
    /// The original one's, so that windows and joins by event time take the record for what it is; the present where it is not
    /// known, or so old that the target's retention would remove the record at once (nine tenths of `retention.ms`), of which
    /// the progress warns.
    #[default]
    Original,
    /// The time of sending.
    Now,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            target: None,
            allowed_targets: Vec::new(),
            dry_run: false,
            fix: None,
            rate: None,
            in_flight: NonZeroU32::new(100).unwrap_or(NonZeroU32::MIN),
            max_replays: 3,
            again: false,
            stop_at_first_error: false,
            timestamp: ReplayTimestamp::Original,
            claim_lease: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for ReplayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayOptions")
            .field("target", &self.target)
            .field("allowed_targets", &self.allowed_targets)
            .field("dry_run", &self.dry_run)
            .field("fix", &self.fix.is_some())
            .field("rate", &self.rate)
            .field("in_flight", &self.in_flight)
            .field("max_replays", &self.max_replays)
            .field("again", &self.again)
            .field("stop_at_first_error", &self.stop_at_first_error)
            .field("timestamp", &self.timestamp)
            .field("claim_lease", &self.claim_lease)
            .finish()
    }
}
