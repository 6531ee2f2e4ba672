use std::fmt;
use std::sync::Arc;

use crate::record::Header;

/// What a redaction hook may change of a dead letter before it leaves the process.
#[non_exhaustive]
pub struct Redaction<'a> {
    /// The whole chain of errors; cut to its limit only afterwards.
    pub message: &'a mut String,
    /// The chain, one cause per line, and a backtrace; cut to its limit only afterwards.
    pub backtrace: &'a mut Option<String>,
    /// The original record's headers.
    pub headers: &'a mut Vec<Header>,
}

impl fmt::Debug for Redaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The contents are what must not get into logs.
        f.write_str("Redaction")
    }
}

/// A redaction hook. It runs under the guard that handlers run under.
pub type Redactor = Arc<dyn Fn(&mut Redaction<'_>) + Send + Sync>;
