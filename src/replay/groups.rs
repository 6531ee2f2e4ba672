use super::entry::Entry;

/// Dead letters of one fault.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Group {
    /// What they have in common.
    pub fingerprint: String,
    /// How many there are.
    pub count: u64,
    /// When the first was published, in milliseconds since the Unix epoch.
    pub first_seen: i64,
    /// When the last was published, in milliseconds since the Unix epoch.
    pub last_seen: i64,
    /// The last one. Its value and backtrace are as they were read.
    pub example: Entry,
}
