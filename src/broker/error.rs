use std::time::Duration;

use super::code::ErrorCode;
use crate::policy::ConfigError;

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
    #[error("{doing}: broker answered {code}{}", detail(*.code, .message))]
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
    /// A record holds what the adapter cannot write; nothing was sent.
    #[error("{doing}: cannot be written: {remedy}")]
    Unwritable {
        /// What was being done, to what.
        doing: String,
        /// What it is, and what to do instead.
        remedy: String,
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
    /// The broker does not accept who this client says it is, or this client not the broker.
    #[error("{doing}: authentication failed: {cause}")]
    Authentication {
        /// What was being done, to what.
        doing: String,
        /// What is wrong, and what to do.
        cause: String,
    },
    /// No encrypted connection came about for a reason that stays until somebody changes something.
    #[error("{doing}: TLS failed: {cause}")]
    Tls {
        /// What was being done, to what.
        doing: String,
        /// What is wrong, and what to do.
        cause: String,
    },
    /// A setting cannot be used.
    #[error("invalid configuration: {0}")]
    Config(#[from] ConfigError),
    /// The client was closed.
    #[error("{doing}: the client is closed")]
    Closed {
        /// What was being done, to what.
        doing: String,
    },
}

/// The broker's own text, and what the code means for people.
fn detail(code: ErrorCode, message: &Option<String>) -> String {
    let said = message.iter().filter(|text| !text.is_empty()).map(|text| format!(": {text}"));
    said.chain(code.advice().map(|advice| format!(" ({advice})"))).collect()
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
            | Self::Unwritable { .. }
            | Self::Authentication { .. }
            | Self::Tls { .. }
            | Self::Config(_)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answered_code_says_what_the_broker_said_and_what_it_means() {
        let answered = |code, message: Option<&str>| {
            let doing = "creating topic orders".to_owned();
            BrokerError::Response { doing, code: ErrorCode(code), message: message.map(str::to_owned) }.to_string()
        };
        assert_eq!(
            answered(38, Some("larger than available brokers: 1.")),
            "creating topic orders: broker answered INVALID_REPLICATION_FACTOR (38): larger than available brokers: 1. (no more replicas than there are brokers)"
        );
        assert_eq!(answered(40, Some("")), "creating topic orders: broker answered INVALID_CONFIG (40)");
    }

    #[test]
    fn a_request_that_is_too_large_has_the_code_that_the_broker_would_give() {
        let error = BrokerError::RequestTooLarge { doing: "producing".into(), bytes: 11, limit: 10 };
        assert_eq!(error.code(), Some(ErrorCode::MESSAGE_TOO_LARGE));
        assert!(!error.is_retriable());
    }
}
