use std::sync::Arc;

use bytes::Bytes;

use super::entry::Entry;
use crate::record::Header;

/// What is sent in place of a dead letter's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// The key; `None` is null.
    pub key: Option<Bytes>,
    /// The value; `None` is null, a tombstone.
    pub value: Option<Bytes>,
    /// The headers, in order.
    pub headers: Vec<Header>,
}

/// Changes a record before it is replayed. It is given the dead letter and what would be sent, and may fail with a text.
pub type Fix = Arc<dyn Fn(&Entry, Fixed) -> Result<Fixed, String> + Send + Sync>;
