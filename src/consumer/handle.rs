use std::fmt;
use std::future::Future;
use std::sync::Arc;

use ractor::ActorRef;
use ractor::rpc::CallResult;

use super::caught_up;
use crate::broker::Admin;
use crate::event::{EventStream, Events};
use crate::metrics::{Counts, Meter};
use crate::offsets::PartitionOffsets;
use crate::record::TopicPartition;
use crate::supervisor::{PartitionStatus, SeekError, SeekTo, SupervisorMessage};

/// What can be asked of a running consumer, and told: for status pages, health checks and tools beside whatever runs it. Cheap to
/// clone. It keeps no consumer running; of one that has ended it says so.
///
/// ```no_run
/// # async fn run(consumer: bezoar::Consumer) -> Result<(), bezoar::ConsumerError> {
/// let handle = consumer.handle();
/// tokio::spawn(async move {
///     for partition in handle.partitions().await {
///         println!("{}: {:?}, {:?} behind", partition.partition, partition.state, partition.lag);
///     }
/// });
/// consumer.run_until(bezoar::shutdown_signal()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ConsumerHandle {
    pub(super) supervisor: ActorRef<SupervisorMessage>,
    pub(super) admin: Arc<dyn Admin>,
    pub(super) events: Events,
    /// Whether the consumer is a member of its group, and not alone by its own word.
    pub(super) member: bool,
}

impl ConsumerHandle {
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
    /// [`run_until`](super::Consumer::run_until). "Now" is when it is first polled. There is no time limit: a partition that is
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

    /// Each partition that the consumer has now, in order: what it does, where it stands, how far it is behind. Empty once the
    /// consumer has ended. As a stream of what changes: [`events`](Self::events).
    pub async fn partitions(&self) -> Vec<PartitionStatus> {
        self.status().await.unwrap_or_default()
    }

    /// The same; `None` once the consumer has ended.
    pub(crate) async fn status(&self) -> Option<Vec<PartitionStatus>> {
        match self.supervisor.call(SupervisorMessage::Status, None).await {
            Ok(CallResult::Success(mut partitions)) => {
                partitions.sort_by(|one, other| one.partition.cmp(&other.partition));
                Some(partitions)
            }
            _ => None,
        }
    }

    /// What the consumer has done since it started: how many records were handled, failed, were retried, dead-lettered,
    /// quarantined, skipped, by topic and category. It needs no exporter, and can be asked once the consumer has ended.
    ///
    /// ```no_run
    /// # fn report(consumer: &bezoar::Consumer) {
    /// let counts = consumer.counts();
    /// println!("{} handled, {} given up as poison", counts.total.handled, counts.total.poison);
    /// let orders = counts.topic("orders").category(bezoar::policy::Category::Dependency);
    /// println!("{} deliveries of orders failed for a dependency", orders.failed);
    /// # }
    /// ```
    pub fn counts(&self) -> Counts {
        self.events.meter().counts()
    }

    pub(crate) fn meter(&self) -> &Meter {
        self.events.meter()
    }

    /// What of the consumer's events still holds.
    #[cfg(feature = "web")]
    pub(crate) fn present(&self) -> crate::event::PresentState {
        self.events.present().state()
    }

    /// Whether the consumer has been told what it processes: as a member of its group, or by hand.
    #[cfg(feature = "web")]
    pub(crate) fn has_joined(&self) -> bool {
        !self.member || self.events.joined().borrow().is_some()
    }

    /// Delivers nothing new of these partitions until [`resume`](Self::resume). A record in flight finishes; one that failed is
    /// not delivered again meanwhile. They stay assigned, and what is fetched ahead stays in memory. A pause ends when the
    /// partition is given up to another member. Returns those of the list that the consumer does not have.
    ///
    /// ```no_run
    /// # async fn maintain(consumer: &bezoar::Consumer) {
    /// use bezoar::record::TopicPartition;
    ///
    /// let orders = TopicPartition::new("orders", 3);
    /// let unknown = consumer.pause([orders.clone()]).await;
    /// assert!(unknown.is_empty(), "it is another instance's");
    /// // …
    /// consumer.resume([orders]).await;
    /// # }
    /// ```
    pub async fn pause(&self, partitions: impl IntoIterator<Item = TopicPartition>) -> Vec<TopicPartition> {
        self.set_paused(Some(partitions.into_iter().collect()), true).await
    }

    /// Delivers nothing new of any partition, those that are assigned later included, until [`resume_all`](Self::resume_all).
    /// The consumer stays a member of its group.
    pub async fn pause_all(&self) {
        self.set_paused(None, true).await;
    }

    /// Goes on with partitions after [`pause`](Self::pause). While the whole consumer is paused they stay so until
    /// [`resume_all`](Self::resume_all). Returns those of the list that the consumer does not have.
    pub async fn resume(&self, partitions: impl IntoIterator<Item = TopicPartition>) -> Vec<TopicPartition> {
        self.set_paused(Some(partitions.into_iter().collect()), false).await
    }

    /// Goes on after [`pause_all`](Self::pause_all). Partitions that were paused by themselves stay so.
    pub async fn resume_all(&self) {
        self.set_paused(None, false).await;
    }

    async fn set_paused(&self, partitions: Option<Vec<TopicPartition>>, paused: bool) -> Vec<TopicPartition> {
        let asked = partitions.clone();
        let told = |reply| SupervisorMessage::Pause { partitions, paused, reply };
        match self.supervisor.call(told, None).await {
            Ok(CallResult::Success(unknown)) => unknown,
            // A consumer that has ended has none.
            _ => asked.unwrap_or_default(),
        }
    }

    /// Goes on with a partition at another offset, which is committed before anything is delivered from there; returns it.
    /// The record in flight finishes first, and its dead letters are acknowledged; one that waits for a retry is left.
    ///
    /// Backwards, records are handled again; forwards, those in between are never handled: nobody but the caller knows that.
    ///
    /// # Errors
    /// [`SeekError`] says why the partition goes on as it was.
    pub async fn seek(&self, partition: TopicPartition, to: SeekTo) -> Result<i64, SeekError> {
        match self.supervisor.call(|reply| SupervisorMessage::Seek { partition, to, reply }, None).await {
            Ok(CallResult::Success(result)) => result,
            _ => Err(SeekError::Ended),
        }
    }
}

impl fmt::Debug for ConsumerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConsumerHandle")
    }
}
