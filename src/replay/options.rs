use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use super::fix::Fix;

/// How dead letters are replayed; every field has a default.
#[derive(Clone)]
#[non_exhaustive]
pub struct ReplayOptions {
    /// The topic to send to; default: each one's own source.
    pub target: Option<Arc<str>>,
    /// Topics that may be sent to besides the `target`-less default, which is each dead letter's own source as far as the name of
    /// its dead-letter topic vouches for it (`orders.dlq`, `orders.dlq.poison` for `orders`). Names exactly.
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
    /// Replays also those that are replayed or discarded already. Default false.
    pub again: bool,
    /// Ends at the first failure. Default false.
    pub stop_at_first_error: bool,
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
        }
    }
}

impl fmt::Debug for ReplayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayOptions")
            .field("target", &self.target)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}
