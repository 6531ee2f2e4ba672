use std::ops::Range;

use bytes::Bytes;

use crate::policy::Category;

/// Which dead letters are meant: all that every given condition fits. The default is all that are not resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Filter {
    /// Of one of these categories; empty: of any.
    pub categories: Vec<Category>,
    /// With this error type.
    pub error_type: Option<String>,
    /// With this fingerprint, or one that begins so.
    pub fingerprint: Option<String>,
    /// From this source topic.
    pub source_topic: Option<String>,
    /// From this source partition.
    pub source_partition: Option<i32>,
    /// From source offsets in this range.
    pub source_offsets: Option<Range<i64>>,
    /// With this key.
    pub key: Option<Bytes>,
    /// Published at or after this time, in milliseconds since the Unix epoch.
    pub since: Option<i64>,
    /// Published before this time, in milliseconds since the Unix epoch.
    pub until: Option<i64>,
    /// With a header of this name, and of this value where one is given.
    pub header: Option<(String, Option<Bytes>)>,
    /// With this text in the error's message.
    pub text: Option<String>,
    /// Which of them by what became of them.
    pub states: States,
}

/// Which dead letters are meant, by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum States {
    /// Those that are neither replayed nor discarded.
    #[default]
    Unresolved,
    /// Those that are replayed or discarded.
    Resolved,
    /// All.
    All,
}
