use std::error::Error as _;

use rskafka::client::error::{Error, ProtocolError, RequestError};

use crate::broker::{BrokerError, ErrorCode};

/// Translates an error of rskafka.
pub(super) fn translate(doing: &str, error: &Error) -> BrokerError {
    let doing = doing.to_owned();
    match error {
        Error::ServerError { protocol_error, error_message, .. } => {
            BrokerError::Response { doing, code: code(*protocol_error), message: error_message.clone() }
        }
        // rskafka's own retries are off (see `Clients`): the one error beneath is the error.
        Error::RetryFailed(retries) => match retries.source().and_then(|source| source.downcast_ref::<Error>()) {
            Some(inner) => translate(&doing, inner),
            None => BrokerError::Connection { doing, cause: error.to_string() },
        },
        Error::Connection(cause) => BrokerError::Connection { doing, cause: cause.to_string() },
        Error::Request(cause) if is_decoding(cause) => BrokerError::Malformed { doing, cause: cause.to_string() },
        Error::Request(cause) => BrokerError::Connection { doing, cause: cause.to_string() },
        error => BrokerError::Malformed { doing, cause: error.to_string() },
    }
}

/// Why a response to a fetch could not be decoded although it arrived: the same bytes will fail again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Undecodable {
    /// rskafka's own words.
    pub(super) cause: String,
    /// Whether it stumbled over a transaction marker, which holds no data.
    pub(super) control: bool,
    /// Whether the connection is lost with it.
    pub(super) connection_lost: bool,
}

/// Tells a response that cannot be decoded from all other errors.
pub(super) fn undecodable(error: &Error) -> Option<Undecodable> {
    let (cause, connection_lost) = match error {
        Error::Request(request) if is_decoding(request) => (request.to_string(), false),
        Error::Request(request) if is_too_large(request) => (request.to_string(), true),
        Error::InvalidResponse(text) if text.to_lowercase().contains("timestamp") => (text.clone(), false),
        _ => return None,
    };
    let control = cause.contains("control batch record") || cause.contains("control record");
    Some(Undecodable { cause, control, connection_lost })
}

fn is_decoding(error: &RequestError) -> bool {
    matches!(error, RequestError::ReadError(_) | RequestError::ReadVersionedError(_) | RequestError::TooMuchData { .. })
}

/// A response above the size limit ends the connection, and asking for less may help.
fn is_too_large(error: &RequestError) -> bool {
    match error {
        RequestError::Poisoned(inner) => is_too_large(inner),
        RequestError::ReadFramedMessageError(cause) => cause.to_string().starts_with("Message too large"),
        _ => false,
    }
}

/// The number of an error, which rskafka keeps as a name only.
fn code(error: ProtocolError) -> ErrorCode {
    if let ProtocolError::Unknown(code) = error {
        return ErrorCode(code);
    }
    let unknown_server_error = -1;
    let number = (unknown_server_error..=i16::from(u8::MAX)).find(|code| ProtocolError::new(*code) == Some(error));
    ErrorCode(number.unwrap_or(unknown_server_error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_keeps_its_number() {
        for number in (-1..300).filter(|number| *number != 0) {
            assert_eq!(code(ProtocolError::new(number).unwrap()), ErrorCode(number));
        }
    }
}
