//! Reading: one loop per broker over all the partitions that it leads.
//!
//! To follow a partition: [`Fetcher::add`](Source::add) makes a `Reading` and hands it to the `manager`, which finds its
//! leader (`placing`) and gives it to the loop of that `broker`. The loop asks for it while its feed has credit
//! (`session`, `wait`, `request`), sees from the headers of an answer where to go on (`sorting`), sends the next request,
//! and only then decodes what came into the feed (`intake`, `position`). What cannot go on goes back to the
//! manager, which waits (`backoff`), looks at metadata, and places it anew.

mod answer;
mod backoff;
mod broker;
mod doubts;
mod epochs;
mod intake;
mod manager;
mod message;
mod placing;
mod position;
mod reading;
mod request;
mod session;
mod sorting;
mod wait;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, UnboundedSender};
use uuid::Uuid;

use self::manager::Manager;
use self::message::Command;
use self::reading::Reading;
use super::cluster::Cluster;
use crate::broker::outlet::Outlet;
use crate::broker::{Feed, Source};
use crate::record::TopicPartition;

/// The source.
pub(super) struct Fetcher {
    cluster: Arc<Cluster>,
    runtime: Handle,
    commands: UnboundedSender<Command>,
    /// The ways to the feeds of what was added and not removed.
    outlets: Mutex<HashMap<TopicPartition, Arc<Outlet>>>,
    next_serial: AtomicU64,
}

impl Fetcher {
    pub(super) fn new(cluster: Arc<Cluster>, runtime: Handle) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        runtime.spawn(Manager::new(Arc::clone(&cluster), receiver).run());
        Self { cluster, runtime, commands, outlets: Mutex::default(), next_serial: AtomicU64::new(0) }
    }

    fn command(&self, command: Command) {
        // Without the manager the runtime is gone, and all reading with it.
        let _ = self.commands.send(command);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TopicPartition, Arc<Outlet>>> {
        // Held for single, consistent changes only.
        self.outlets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Fetcher {
    fn add(&self, partition: TopicPartition, topic_id: Option<Uuid>, offset: i64, feed: Arc<Feed>) {
        self.add_at(partition, topic_id, offset, None, feed);
    }

    fn add_at(
        &self,
        partition: TopicPartition,
        topic_id: Option<Uuid>,
        offset: i64,
        leader_epoch: Option<i32>,
        feed: Arc<Feed>,
    ) {
        let outlet = Arc::new(Outlet::new(feed));
        if let Some(before) = self.lock().insert(partition.clone(), Arc::clone(&outlet)) {
            before.shut();
        }
        let serial = self.next_serial.fetch_add(1, Ordering::Relaxed);
        let mut reading = Reading::new(serial, partition, topic_id, offset, outlet);
        reading.position.move_to(offset, leader_epoch);
        self.command(Command::Read(reading));
    }

    fn remove(&self, partition: &TopicPartition) {
        let removed = self.lock().remove(partition);
        if let Some(outlet) = removed {
            outlet.shut();
            self.command(Command::Look);
        }
    }

    fn fork(&self) -> Option<Arc<dyn Source>> {
        Some(Arc::new(Self::new(Arc::clone(&self.cluster), self.runtime.clone())))
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        for (_, outlet) in self.lock().drain() {
            outlet.shut();
        }
    }
}
