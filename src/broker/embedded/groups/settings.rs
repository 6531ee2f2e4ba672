use std::time::Duration;

/// How the broker coordinates groups.
#[derive(Debug, Clone)]
pub(crate) struct GroupSettings {
    /// The shortest and longest session timeouts that classic members may ask for.
    pub(crate) shortest_session: Duration,
    pub(crate) longest_session: Duration,
    /// How long an empty classic group waits for more members after its first.
    pub(crate) initial_delay: Duration,
    /// The most members of a group.
    pub(crate) most_members: usize,
    /// How soon members of KIP-848 are told to send their next heartbeat.
    pub(crate) heartbeat_interval: Duration,
    /// How long the broker waits for a heartbeat of a member of KIP-848.
    pub(crate) consumer_session: Duration,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self {
            shortest_session: Duration::from_secs(1),
            longest_session: Duration::from_secs(30 * 60),
            initial_delay: Duration::ZERO,
            most_members: usize::MAX,
            heartbeat_interval: Duration::from_secs(5),
            consumer_session: Duration::from_secs(45),
        }
    }
}
