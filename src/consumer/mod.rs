//! The handle of a running consumer, and the builder that makes it.

mod builder;
mod caught_up;
mod connecting;
mod defaults;
mod error;
mod handle;
mod joining;
mod membership;
mod monitor;
mod prepare;
mod resolved;
mod sections;
mod settings;
mod signal;
mod start;
mod subscription;
mod topic;
mod tracing_hook;
mod validate;

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use builder::ConsumerBuilder;
pub use error::ConsumerError;
pub use handle::ConsumerHandle;
pub use membership::{Assignment, MissingTopics};
pub use sections::{DeadLetterSettings, ProducerSettings, RestartSettings, TopicSection};
pub use settings::ConsumerSettings;
pub use signal::shutdown_signal;
use tokio::sync::watch;
pub use topic::TopicOptions;

pub use crate::group::{Assignor, GroupProtocol};
pub use crate::isolation::Isolation;
pub use crate::offsets::{OffsetReset, PartitionOffsets, ResolveError};
pub use crate::partition::CorruptBatches;
pub use crate::supervisor::{Escalation, PartitionState, PartitionStatus, RestartPolicy, SeekError, SeekTo, Summary};

use crate::isolation::Planes;
use crate::policy::ConfigError;
use crate::supervisor::{Finished, SupervisorMessage};

/// A running consumer. [`run_until`](Self::run_until) or [`shutdown`](Self::shutdown) end it cleanly; dropped, it
/// delivers and commits nothing more, and its group notices only when the session times out: what is not committed is
/// delivered again later.
///
/// All that its [handle](ConsumerHandle) can do, it can do itself.
pub struct Consumer {
    handle: ConsumerHandle,
    ended: watch::Receiver<Option<Finished>>,
    drain_timeout: Duration,
    closed: Arc<AtomicBool>,
    /// Dropped last: it ends the threads that all the rest runs on.
    _planes: Planes,
}

impl Consumer {
    /// Starts to put a consumer together for `group`, the consumer group under which offsets are committed.
    pub fn builder(group: impl Into<String>) -> ConsumerBuilder {
        ConsumerBuilder::new(resolved::Resolved::new(group.into()))
    }

    /// The same from settings, such as a configuration file's. What is set on the builder afterwards replaces them.
    ///
    /// # Errors
    /// Names the setting, its value and what would be right.
    pub fn from_settings(settings: ConsumerSettings) -> Result<ConsumerBuilder, ConfigError> {
        ConsumerBuilder::from_settings(settings)
    }

    pub(crate) fn new(
        handle: ConsumerHandle,
        (planes, closed): (Planes, Arc<AtomicBool>),
        ended: watch::Receiver<Option<Finished>>,
        drain_timeout: Duration,
    ) -> Self {
        Self { handle, ended, drain_timeout, closed, _planes: planes }
    }

    /// What is left in hand when the consumer itself is given to [`run_until`](Self::run_until).
    pub fn handle(&self) -> ConsumerHandle {
        self.handle.clone()
    }

    /// Runs until `signal` is ready ([`shutdown_signal`], say) and then shuts down, or until the consumer stops by itself.
    ///
    /// # Errors
    /// [`ConsumerError::Halted`] where a policy or the supervisor stopped it.
    pub async fn run_until(mut self, signal: impl Future) -> Result<Summary, ConsumerError> {
        tokio::select! {
            biased;
            _ = self.ended.wait_for(Option::is_some) => {}
            _ = signal => {}
        }
        self.shutdown().await
    }

    /// Stops cleanly: takes no new record, lets those in flight finish within the drain timeout, waits for the
    /// acknowledgements of dead letters, commits, and leaves the group, which gives its partitions to other instances at once
    /// (those of a static member: after the session timeout). The [`Summary`] says what is settled and committed, and what had to
    /// be dropped. Takes at most the drain timeout and fifteen seconds, and three more
    /// where a sink of the monitor is slow.
    ///
    /// # Errors
    /// [`ConsumerError::Halted`] if the consumer had stopped by itself before, or a policy said stop meanwhile.
    pub async fn shutdown(mut self) -> Result<Summary, ConsumerError> {
        // A supervisor that has ended already has left its word in `ended`.
        let _ = self.handle.supervisor.cast(SupervisorMessage::Drain { deadline: self.drain_timeout });
        let finished = match self.ended.wait_for(Option::is_some).await {
            Ok(finished) => finished.clone(),
            Err(_) => None,
        };
        match finished {
            Some(Finished { halted: None, summary }) => Ok(summary),
            Some(Finished { halted: Some(reason), summary }) => {
                Err(ConsumerError::Halted { reason, summary: Box::new(summary) })
            }
            None => Err(ConsumerError::Internal),
        }
    }
}

impl Deref for Consumer {
    type Target = ConsumerHandle;

    fn deref(&self) -> &ConsumerHandle {
        &self.handle
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // Heeded at once by actors that have not heard of the stop yet.
        self.closed.store(true, Ordering::Release);
        self.handle.supervisor.stop(None);
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Consumer")
    }
}
