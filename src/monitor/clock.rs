use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::condition::Now;

/// What time it is for a monitor.
#[derive(Debug)]
pub(super) struct Clock {
    started: Instant,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { started: Instant::now() }
    }

    pub(super) fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        Now { elapsed: self.started.elapsed(), wall: i64::try_from(wall).unwrap_or(i64::MAX) }
    }
}
