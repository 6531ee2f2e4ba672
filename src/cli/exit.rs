use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use super::settings;
use crate::broker::{BrokerError, ErrorCode};
use crate::policy::ConfigError;
use crate::replay::ReplayError;

/// How a command ended; the exit codes that `--help` documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// All was done.
    Done = 0,
    /// Something failed; some of it may be done.
    Failed = 1,
    /// The command line or a setting makes no sense; nothing was done.
    Usage = 2,
    /// The broker could not be reached, or refused.
    Broker = 3,
    /// Nothing fitted, or what was named does not exist.
    Nothing = 4,
    /// `watch --once` found a topic that is not healthy.
    Unhealthy = 5,
    /// Ctrl-C came before the end.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command ended early: its exit code, and what is said on standard error (nothing, if it is empty).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CliError {
    pub(super) exit: Exit,
    pub(super) message: String,
}

impl CliError {
    fn new(exit: Exit, message: impl Display) -> Self {
        Self { exit, message: message.to_string() }
    }

    pub(super) fn usage(message: impl Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(super) fn failed(message: impl Display) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(super) fn nothing(message: impl Display) -> Self {
        Self::new(Exit::Nothing, message)
    }

    /// Ctrl-C came before the end.
    pub(super) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted")
    }

    /// What came on standard output could not be written.
    pub(super) fn output(error: &io::Error) -> Self {
        match error.kind() {
            // Whoever reads has seen enough (`| head`): that is no failure.
            io::ErrorKind::BrokenPipe => Self::new(Exit::Done, ""),
            _ => Self::failed(format!("standard output cannot be written ({error})")),
        }
    }
}

impl From<BrokerError> for CliError {
    fn from(error: BrokerError) -> Self {
        match &error {
            BrokerError::Config(error) => error.clone().into(),
            _ if error.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => Self::nothing(error),
            _ => Self::new(Exit::Broker, error),
        }
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self::usage(settings::explain(&error))
    }
}

impl From<ReplayError> for CliError {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Broker(error) => error.into(),
            ReplayError::NotAllowed { .. } | ReplayError::Stalled { .. } => Self::new(Exit::Broker, error),
            ReplayError::ReplaysTopic { .. } | ReplayError::MarksTopic { .. } => Self::usage(error),
            ReplayError::NoSuchTopic { .. }
            | ReplayError::NoSuchPartition { .. }
            | ReplayError::NoSuchLetter { .. }
            | ReplayError::Gone { .. }
            | ReplayError::BeyondEnd { .. }
            | ReplayError::OtherTopic { .. } => Self::nothing(error),
            _ => Self::failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_error_has_its_exit_code() {
        let closed = BrokerError::Closed { doing: "listing topics".into() };
        assert_eq!(CliError::from(closed.clone()).exit, Exit::Broker);
        assert_eq!(CliError::from(ReplayError::Broker(closed)).exit, Exit::Broker);
        let config = ConfigError::new("security.sasl.username", "", "is missing", "give one");
        assert_eq!(CliError::from(BrokerError::Config(config)).exit, Exit::Usage);
        assert_eq!(CliError::from(ReplayError::NoSuchTopic { topic: "orders.dlq".into() }).exit, Exit::Nothing);
        let pipe = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(CliError::output(&pipe), CliError { exit: Exit::Done, message: String::new() });
        assert_eq!(CliError::output(&io::Error::from(io::ErrorKind::StorageFull)).exit, Exit::Failed);
    }
}
