use std::io;

use crate::broker::ErrorCode;

/// Why the embedded broker could not do what it was asked to through its handle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// The address could not be listened on.
    #[error("embedded broker cannot listen on {address}: {source}; choose another port, or 0 for any that is free")]
    Bind {
        /// The address.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// The broker refuses it, as it would refuse a client.
    #[error("{doing}: embedded broker answered {code}: {message}")]
    Refused {
        /// What was being done, to what.
        doing: String,
        /// The code that a client would get.
        code: ErrorCode,
        /// What is wrong.
        message: String,
    },
    /// The log holds a batch whose records are not what it states.
    #[error("reading records of {topic}/{partition}: a batch holds something else than the records that it states")]
    Unreadable {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
    },
}
