use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use uuid::Uuid;

use super::clients::Clients;
use super::reader::Reader;
use crate::broker::native::Native;
use crate::broker::outlet::Outlet;
use crate::broker::{Feed, Source};
use crate::record::TopicPartition;

/// The multiplexed source: behind it, a task per partition, since rskafka reads each over a connection of its own.
pub(super) struct Readers {
    clients: Arc<Clients>,
    native: Native,
    runtime: Handle,
    running: Mutex<HashMap<TopicPartition, Running>>,
}

struct Running {
    task: AbortHandle,
    outlet: Arc<Outlet>,
}

impl Running {
    /// After this nothing reaches the feed any more, even if the task is just running on another thread.
    fn stop(self) {
        self.outlet.shut();
        self.task.abort();
    }
}

impl Readers {
    pub(super) fn new(clients: Arc<Clients>, native: Native, runtime: Handle) -> Self {
        Self { clients, native, runtime, running: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TopicPartition, Running>> {
        // Held for single, consistent changes only.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Readers {
    fn add(&self, partition: TopicPartition, topic_id: Option<Uuid>, offset: i64, feed: Arc<Feed>) {
        let outlet = Arc::new(Outlet::new(Arc::clone(&feed)));
        let reader = Reader::new(
            partition.clone(),
            topic_id,
            offset,
            Arc::clone(&outlet),
            Arc::clone(&self.clients),
            self.native.clone(),
        );
        let task = self.runtime.spawn(reader.run(feed)).abort_handle();
        if let Some(before) = self.lock().insert(partition, Running { task, outlet }) {
            before.stop();
        }
    }

    fn remove(&self, partition: &TopicPartition) {
        if let Some(running) = self.lock().remove(partition) {
            running.stop();
        }
    }

    fn fork(&self) -> Option<Arc<dyn Source>> {
        Some(Arc::new(Self::new(Arc::clone(&self.clients), self.native.clone(), self.runtime.clone())))
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        for (_, running) in self.lock().drain() {
            running.stop();
        }
    }
}
