use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::entry::Entry;
use super::fix::{Fix, Fixed};

/// How dead letters are replayed; every field has a default.
///
/// ```
/// use bezoar::replay::ReplayOptions;
///
/// let options = ReplayOptions::new()
///     .target("orders.repair")
///     .allow_target("orders.repair")
///     .rate(50)
///     .fix(|letter, mut record| {
///         let value = record.value.take().ok_or_else(|| format!("{} has no value", letter.at))?;
///         record.value = Some(value.to_ascii_lowercase().into());
///         Ok(record)
///     });
/// ```
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
    /// The most records per second; default no limit. No more are claimed ahead than it lets through in a second.
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

impl ReplayOptions {
    /// Once each, to where they came from, as they were.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends to this topic. It must be allowed too, unless the name of the dead-letter topic vouches for it.
    pub fn target(mut self, topic: impl Into<Arc<str>>) -> Self {
        self.target = Some(topic.into());
        self
    }

    /// This topic may be sent to, besides those that were named before and the one that the name of the dead-letter topic
    /// vouches for.
    pub fn allow_target(mut self, topic: impl Into<Arc<str>>) -> Self {
        let topic = topic.into();
        if !self.allowed_targets.contains(&topic) {
            self.allowed_targets.push(topic);
        }
        self
    }

    /// Whether it is only said what would be done.
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Changes each record before it is sent. Given the dead letter and what would be sent; a text as error is why it fails.
    pub fn fix(mut self, fix: impl Fn(&Entry, Fixed) -> Result<Fixed, String> + Send + Sync + 'static) -> Self {
        self.fix = Some(Arc::new(fix));
        self
    }

    /// The most records per second; 0 counts as 1.
    pub fn rate(mut self, per_second: u32) -> Self {
        self.rate = Some(at_least_one(per_second));
        self
    }

    /// How many records may be under way; 0 counts as 1.
    pub fn in_flight(mut self, records: u32) -> Self {
        self.in_flight = at_least_one(records);
        self
    }

    /// Leaves records that were replayed as often as this.
    pub fn max_replays(mut self, max_replays: u32) -> Self {
        self.max_replays = max_replays;
        self
    }

    /// Whether those are meant too that are replayed or discarded already.
    pub fn again(mut self, again: bool) -> Self {
        self.again = again;
        self
    }

    /// Whether it ends at the first failure.
    pub fn stop_at_first_error(mut self, stop: bool) -> Self {
        self.stop_at_first_error = stop;
        self
    }

    /// The timestamps that the records get.
    pub fn timestamp(mut self, timestamp: ReplayTimestamp) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// How long another run leaves alone what this one has claimed, should this one fall silent; at least 1 s.
    pub fn claim_lease(mut self, lease: Duration) -> Self {
        self.claim_lease = lease;
        self
    }
}

fn at_least_one(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_what_is_done() {
        let default = ReplayOptions::new();
        assert_eq!((default.in_flight.get(), default.max_replays, default.rate), (100, 3, None));
        let options = ReplayOptions::new()
            .target("a")
            .allow_target("a")
            .allow_target("b")
            .allow_target("a")
            .dry_run(true)
            .fix(|_, record| Ok(record))
            .rate(0)
            .in_flight(7)
            .max_replays(9)
            .again(true)
            .stop_at_first_error(true)
            .timestamp(ReplayTimestamp::Now)
            .claim_lease(Duration::from_secs(5));
        assert_eq!(options.target.as_deref(), Some("a"));
        assert_eq!(options.allowed_targets.iter().map(|it| &**it).collect::<Vec<_>>(), ["a", "b"]);
        assert!(options.dry_run && options.fix.is_some() && options.again && options.stop_at_first_error);
        assert_eq!((options.rate.map(NonZeroU32::get), options.in_flight.get(), options.max_replays), (Some(1), 7, 9));
        assert_eq!((options.timestamp, options.claim_lease), (ReplayTimestamp::Now, Duration::from_secs(5)));
    }
}
