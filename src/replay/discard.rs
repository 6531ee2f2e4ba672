/// What a discard did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DiscardReport {
    /// How many were marked as resolved.
    pub discarded: u64,
    /// How many were resolved already.
    pub skipped: u64,
    /// How many were left since a replay has claimed them a moment ago.
    pub claimed: u64,
    /// How many places that were named hold no dead letter.
    pub missing: u64,
    /// How many records that fit were left since they are no dead letters of any [convention](super::Convention) that is known: they
    /// are discarded only where they are named by their places.
    pub unrecognized: u64,
}
