use std::error::Error;
use std::io;

/// What the built-in rules know about the type of one error in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fact {
    /// `serde_json::Error`, other than for a reader that failed (its `io::Error` is a fact of its own).
    Json,
    /// Bytes that are not UTF-8 (or UTF-16).
    Utf8,
    /// A text that is not the number, flag, character, address, id or time that it should be.
    Parse,
    /// An `io::Error` of this kind.
    Io(io::ErrorKind),
    /// tokio's `Elapsed`: a timeout of the handler's own.
    Elapsed,
    /// `TryReserveError`: memory could not be had.
    Allocation,
}

impl Fact {
    /// What is known about `error` itself, its causes left aside.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(json) = error.downcast_ref::<serde_json::Error>() {
            return (!json.is_io()).then_some(Fact::Json);
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(Fact::Io(io.kind()));
        }
        if error.is::<tokio::time::error::Elapsed>() {
            return Some(Fact::Elapsed);
        }
        if error.is::<std::collections::TryReserveError>() {
            return Some(Fact::Allocation);
        }
        if error.is::<std::str::Utf8Error>()
            || error.is::<std::string::FromUtf8Error>()
            || error.is::<std::string::FromUtf16Error>()
        {
            return Some(Fact::Utf8);
        }
        let parse = error.is::<std::num::ParseIntError>()
            || error.is::<std::num::ParseFloatError>()
            || error.is::<std::num::TryFromIntError>()
            || error.is::<std::str::ParseBoolError>()
            || error.is::<std::char::ParseCharError>()
            || error.is::<std::char::CharTryFromError>()
            || error.is::<std::net::AddrParseError>()
            || error.is::<uuid::Error>()
            || error.is::<chrono::ParseError>()
            || error.is::<base64::DecodeError>()
            || error.is::<humantime::DurationError>();
        parse.then_some(Fact::Parse)
    }
}
