//! The defaults of [`ConsumerSettings`](super::ConsumerSettings), in one place for files and the builder.

use std::time::Duration;

use crate::group::Assignor;

pub(super) fn client_id() -> String {
    "bezoar".to_owned()
}

pub(super) fn consumer_version() -> String {
    "1.0.0".to_owned()
}

/// Below the brokers' default session timeout in groups of KIP-848, 45 s.
pub(super) const fn lease() -> Duration {
    Duration::from_secs(30)
}

pub(super) const fn commit_interval() -> Duration {
    Duration::from_secs(1)
}

pub(super) const fn poison_timeout() -> Option<Duration> {
    Some(Duration::from_secs(30))
}

pub(super) const fn drain_timeout() -> Duration {
    Duration::from_secs(30)
}

pub(super) const fn feed_bytes() -> usize {
    2 << 20
}

pub(super) const fn fetch_max_bytes() -> i32 {
    1 << 20
}

pub(super) const fn fetch_max_bytes_per_broker() -> i32 {
    16 << 20
}

pub(super) const fn fetch_min_bytes() -> i32 {
    1
}

pub(super) const fn max_decompressed_bytes() -> usize {
    128 << 20
}

pub(super) const fn metadata_max_age() -> Duration {
    Duration::from_secs(300)
}

pub(super) const fn max_response_bytes() -> usize {
    256 << 20
}

pub(super) const fn max_request_bytes() -> usize {
    100 << 20
}

pub(super) const fn reconnect_backoff() -> Duration {
    Duration::from_millis(50)
}

pub(super) const fn reconnect_backoff_max() -> Duration {
    Duration::from_secs(1)
}

pub(super) const fn fetch_max_wait() -> Duration {
    Duration::from_millis(500)
}

pub(super) const fn connect_timeout() -> Duration {
    Duration::from_secs(10)
}

pub(super) const fn request_timeout() -> Duration {
    Duration::from_secs(30)
}

pub(super) const fn start_attempts() -> u32 {
    5
}

pub(super) const fn session_timeout() -> Duration {
    Duration::from_secs(45)
}

pub(super) const fn heartbeat_interval() -> Duration {
    Duration::from_secs(3)
}

pub(super) const fn rebalance_timeout() -> Duration {
    Duration::from_secs(60)
}

pub(super) fn assignors() -> Vec<Assignor> {
    vec![Assignor::CooperativeSticky]
}

pub(super) const fn topic_refresh() -> Duration {
    Duration::from_secs(30)
}

pub(super) const fn offsets_recommit() -> Duration {
    Duration::from_secs(3600)
}
