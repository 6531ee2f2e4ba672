use std::fmt;
use std::time::Duration;

use kafka_protocol::ResponseError;

/// An error code of the Kafka protocol, as data. Displays as its name and number, e.g. `NOT_COORDINATOR (16)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub i16);

impl ErrorCode {
    /// `OFFSET_OUT_OF_RANGE`.
    pub const OFFSET_OUT_OF_RANGE: Self = Self(1);
    /// `UNKNOWN_TOPIC_OR_PARTITION`.
    pub const UNKNOWN_TOPIC_OR_PARTITION: Self = Self(3);
    /// `MESSAGE_TOO_LARGE`.
    pub const MESSAGE_TOO_LARGE: Self = Self(10);
    /// `UNSUPPORTED_VERSION`.
    pub const UNSUPPORTED_VERSION: Self = Self(35);
    /// `TOPIC_ALREADY_EXISTS`.
    pub const TOPIC_ALREADY_EXISTS: Self = Self(36);
    /// `GROUP_ID_NOT_FOUND`.
    pub const GROUP_ID_NOT_FOUND: Self = Self(69);

    /// Whether the same request may succeed later.
    pub fn is_retriable(self) -> bool {
        ResponseError::try_from_code(self.0).is_some_and(|error| error.is_retriable())
    }

    /// Whether it says that a right (an ACL) is missing.
    pub fn is_authorization(self) -> bool {
        matches!(self.0, 29 | 30 | 31 | 53 | 65)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ResponseError::try_from_code(self.0) {
            Some(error) => write!(f, "{} ({})", screaming(&format!("{error:?}")), self.0),
            None => write!(f, "error code {}", self.0),
        }
    }
}

/// `UnknownTopicOrPartition` as Kafka writes it: `UNKNOWN_TOPIC_OR_PARTITION`.
fn screaming(camel: &str) -> String {
    let mut name = String::with_capacity(camel.len() + 8);
    for (index, letter) in camel.chars().enumerate() {
        if letter.is_ascii_uppercase() && index > 0 {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// Why a call to the broker did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BrokerError {
    /// No broker of the list could be reached.
    #[error(
        "no broker reachable at {addresses}: {causes}; check that the addresses and ports are right and the broker runs"
    )]
    Unreachable {
        /// The addresses tried, comma-separated.
        addresses: String,
        /// What went wrong at each.
        causes: String,
    },
    /// The broker answered with an error code.
    #[error("{doing}: broker answered {code}{}", detail(.message))]
    Response {
        /// What was being done, to what.
        doing: String,
        /// The code.
        code: ErrorCode,
        /// The broker's own text, if it gave one.
        message: Option<String>,
    },
    /// There was no answer in time; whether the call took effect is unknown.
    #[error("{doing}: no answer within {}", humantime::format_duration(*.after))]
    Timeout {
        /// What was being done, to what.
        doing: String,
        /// How long the answer was waited for.
        after: Duration,
    },
    /// The connection failed or was closed; whether the call took effect is unknown.
    #[error("{doing}: connection failed: {cause}")]
    Connection {
        /// What was being done, to what.
        doing: String,
        /// The cause.
        cause: String,
    },
    /// The answer could not be understood.
    #[error("{doing}: malformed answer: {cause}")]
    Malformed {
        /// What was being done, to what.
        doing: String,
        /// The cause.
        cause: String,
    },
    /// The request would be larger than allowed, and was not sent.
    #[error(
        "{doing}: request of {bytes} bytes, above the limit of {limit} (max_request_bytes); send less at once, or raise it and the brokers' socket.request.max.bytes"
    )]
    RequestTooLarge {
        /// What was being done, to what.
        doing: String,
        /// The size of the request in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// An address leads to another cluster than the one that this client began with.
    #[error(
        "{doing}: the broker belongs to cluster {found}, this client began with cluster {expected}; check the bootstrap addresses (a name that now points elsewhere?), and restart if the cluster was set up anew"
    )]
    OtherCluster {
        /// What was being done, to what.
        doing: String,
        /// The id of the cluster that this client began with.
        expected: String,
        /// The id of the cluster found.
        found: String,
    },
    /// The adapter or the broker cannot do this.
    #[error("{doing}: not supported: {remedy}")]
    Unsupported {
        /// What was being done, to what.
        doing: String,
        /// What to do instead.
        remedy: String,
    },
    /// The client was closed.
    #[error("{doing}: the client is closed")]
    Closed {
        /// What was being done, to what.
        doing: String,
    },
}

fn detail(message: &Option<String>) -> String {
    message.as_ref().filter(|text| !text.is_empty()).map(|text| format!(": {text}")).unwrap_or_default()
}

impl BrokerError {
    /// Whether the same call may succeed later without anybody changing anything.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Connection { .. } => true,
            Self::Response { code, .. } => code.is_retriable(),
            Self::Malformed { .. }
            | Self::RequestTooLarge { .. }
            | Self::OtherCluster { .. }
            | Self::Unsupported { .. }
            | Self::Closed { .. } => false,
        }
    }

    /// The broker's error code, where there is one; the one that it would answer with, where a request was not sent for
    /// its size.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Response { code, .. } => Some(*code),
            Self::RequestTooLarge { .. } => Some(ErrorCode::MESSAGE_TOO_LARGE),
            _ => None,
        }
    }
}
