//! What several test targets share.

use std::time::Duration;

use bezoar::policy::{Backoff, Policies};
use tokio::time::{Instant, sleep};

/// How often it is looked whether a condition holds.
const LOOK: Duration = Duration::from_millis(5);

/// The default policies, with waits of a millisecond.
pub(crate) fn hasty() -> Policies {
    Policies::default().with_each(|_, policy| policy.backoff(Backoff::fixed(Duration::from_millis(1))))
}

/// Waits until `condition` holds, for as long as `limit`.
pub(crate) async fn within(limit: Duration, what: &str, condition: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + limit;
    while !condition().await {
        assert!(Instant::now() < deadline, "within {limit:?}: {what}");
        sleep(LOOK).await;
    }
}
