use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tracing::{error, info, warn};

use super::alert::{Alert, Severity};
use crate::broker::BoxFuture;
use crate::policy::ConfigError;

/// Where alerts go.
///
/// Each sink has a task of its own, on the runtime that the consumer was started on, and a queue of 256 alerts: one that is slow,
/// hangs or fails delays neither consumption nor the monitor nor other sinks. While it fails, the alert is tried again after
/// waits that grow to a minute; from a full queue the oldest one goes, which is counted and logged once the sink works again. A
/// sink that panics has failed.
///
/// ```
/// use std::sync::Arc;
/// use bezoar::broker::BoxFuture;
/// use bezoar::monitor::{Alert, Sink, SinkError};
///
/// struct Siren;
///
/// impl Sink for Siren {
///     fn name(&self) -> String {
///         "siren".to_owned()
///     }
///
///     fn send(&self, alert: Arc<Alert>) -> BoxFuture<Result<(), SinkError>> {
///         Box::pin(async move {
///             if alert.page && !alert.is_resolved() {
///                 println!("\x07{}: {}", alert.title, alert.message);
///             }
///             Ok(())
///         })
///     }
/// }
/// # let settings = bezoar::monitor::MonitorSettings::new().sink(Siren);
/// ```
pub trait Sink: Send + Sync + 'static {
    /// What it is called in the log. No secrets.
    fn name(&self) -> String;

    /// Passes an alert on. Dropped after 30 s, which counts as a failure that may pass.
    fn send(&self, alert: Arc<Alert>) -> BoxFuture<Result<(), SinkError>>;

    /// Checks its settings before anything starts. By default there is nothing to check.
    ///
    /// # Errors
    /// Names the setting, its value and what would be right.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

/// Why an alert could not be passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkError {
    message: String,
    pub(super) again: Again,
}

/// Whether trying again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// After a while.
    Backoff,
    /// Not before this.
    After(Duration),
    /// No: this alert is lost.
    Never,
}

impl SinkError {
    /// It may pass: the alert is tried again.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self { message: message.into(), again: Again::Backoff }
    }

    /// The receiver asked to be left alone for a while (at most 10 min are waited).
    pub fn after(message: impl Into<String>, wait: Duration) -> Self {
        Self { message: message.into(), again: Again::After(wait) }
    }

    /// Trying again would not help: this alert is given up.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self { message: message.into(), again: Again::Never }
    }
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SinkError {}

/// The log: `tracing` events with the target `bezoar::alert`, critical ones as errors, warnings as warnings, the end of a trouble
/// as information.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogSink;

impl Sink for LogSink {
    fn name(&self) -> String {
        "log".to_owned()
    }

    fn send(&self, alert: Arc<Alert>) -> BoxFuture<Result<(), SinkError>> {
        let Alert { kind, state, page, title, message, tags, key, .. } = &*alert;
        let (kind, state, tag) = (kind.as_str(), state.as_str(), |name| tags.get(name).map(String::as_str));
        let (topic, category, partition) = (tag("topic"), tag("category"), tag("partition"));
        macro_rules! log {
            ($level:ident) => {
                $level!(
                    target: "bezoar::alert",
                    kind, state, topic, category, partition, page, key = &**key, "{title}: {message}"
                )
            };
        }
        match alert.severity {
            Severity::Critical => log!(error),
            Severity::Warning => log!(warn),
            Severity::Info => log!(info),
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
