//! The handle of a running consumer, and the builder that makes it.

mod builder;
mod caught_up;
mod connecting;
mod control;
mod defaults;
mod error;
mod joining;
mod membership;
mod prepare;
mod resolved;
mod sections;
mod settings;
mod start;
mod subscription;
mod topic;
mod validate;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use builder::ConsumerBuilder;
pub use error::ConsumerError;
pub use membership::{Assignment, MissingTopics};
use ractor::ActorRef;
use ractor::rpc::CallResult;
pub use sections::{DeadLetterSettings, ProducerSettings, RestartSettings, TopicSection};
pub use settings::ConsumerSettings;
use tokio::sync::watch;
pub use topic::TopicOptions;

pub use crate::group::{Assignor, GroupProtocol};
pub use crate::isolation::Isolation;
pub use crate::offsets::{OffsetReset, PartitionOffsets, ResolveError};
pub use crate::partition::CorruptBatches;
pub use crate::supervisor::{Escalation, PartitionState, PartitionStatus, RestartPolicy, SeekError, SeekTo, Summary};

use crate::broker::Admin;
use crate::event::{EventStream, Events};
use crate::isolation::Planes;
use crate::policy::ConfigError;
use crate::supervisor::{Finished, SupervisorMessage};

/// A running consumer. [`run_until`](Self::run_until) or [`shutdown`](Self::shutdown) end it cleanly; dropped, it
/// delivers and commits nothing more, and its group notices only when the session times out: what is not committed is
/// delivered again later.
pub struct Consumer {
    supervisor: ActorRef<SupervisorMessage>,
    admin: Arc<dyn Admin>,
    events: Events,
    /// Whether it is a member of its group, and not alone by its own word.
    member: bool,
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
        supervisor: ActorRef<SupervisorMessage>,
        admin: Arc<dyn Admin>,
        member: bool,
        (planes, closed): (Planes, Arc<AtomicBool>),
        events: Events,
        ended: watch::Receiver<Option<Finished>>,
        drain_timeout: Duration,
    ) -> Self {
        Self { supervisor, admin, events, member, ended, drain_timeout, closed, _planes: planes }
    }

    /// A stream of events from now on; the builder has one from the start on.
    pub fn events(&self) -> EventStream {
        self.events.subscribe()
    }

    /// Where the offsets of each partition stand now; empty once the consumer has ended. [`partitions`](Self::partitions) says
    /// more.
    pub async fn positions(&self) -> Vec<PartitionOffsets> {
        match self.supervisor.call(SupervisorMessage::Snapshot, None).await {
            Ok(CallResult::Success(positions)) => positions,
            _ => Vec::new(),
        }
    }

    /// Waits until all records that the partitions hold now are settled, or the consumer has ended: for jobs that
    /// process a backlog and stop, and for tests. It borrows nothing, so it can be the signal of
    /// [`run_until`](Self::run_until). "Now" is when it is first polled. There is no time limit: a partition that is
    /// held, paused or stopped never catches up.
    ///
    /// As a member of a group the consumer waits until it has joined, and then for the partitions that it has: for those that
    /// it gets meanwhile too, from then on, and no longer for those that go to other instances. So it says nothing of what other
    /// instances have still to do.
    ///
    /// ```no_run
    /// # async fn backlog(consumer: bezoar::Consumer) -> Result<(), bezoar::ConsumerError> {
    /// let caught_up = consumer.caught_up();
    /// let summary = consumer.run_until(caught_up).await?;
    /// # let _ = summary;
    /// # Ok(())
    /// # }
    /// ```
    pub fn caught_up(&self) -> impl Future<Output = ()> + Send + use<> {
        let joined = self.member.then(|| self.events.joined());
        caught_up::caught_up(self.supervisor.clone(), Arc::clone(&self.admin), joined)
    }

    /// Runs until `signal` is ready (Ctrl-C, say) and then shuts down, or until the consumer stops by itself.
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
    /// be dropped. Takes at most the drain timeout and fifteen seconds.
    ///
    /// # Errors
    /// [`ConsumerError::Halted`] if the consumer had stopped by itself before, or a policy said stop meanwhile.
    pub async fn shutdown(mut self) -> Result<Summary, ConsumerError> {
        // A supervisor that has ended already has left its word in `ended`.
        let _ = self.supervisor.cast(SupervisorMessage::Drain { deadline: self.drain_timeout });
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

impl Drop for Consumer {
    fn drop(&mut self) {
        // Heeded at once by actors that have not heard of the stop yet.
        self.closed.store(true, Ordering::Release);
        self.supervisor.stop(None);
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Consumer")
    }
}
