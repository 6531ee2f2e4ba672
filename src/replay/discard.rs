/// What a discard did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DiscardReport {
    /// How many were marked as resolved.
    pub discarded: u64,
    /// How many were resolved already.
    pub skipped: u64,
}
