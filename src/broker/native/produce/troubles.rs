use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::broker::BrokerError;
use crate::record::TopicPartition;

/// Why records wait: by partition, the failure of the last attempt. The driver writes it, callers read it.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    by_partition: Mutex<HashMap<TopicPartition, BrokerError>>,
}

impl Troubles {
    /// The trouble of a partition, if it has one.
    pub(super) fn of(&self, partition: &TopicPartition) -> Option<BrokerError> {
        self.lock().get(partition).cloned()
    }

    /// Takes down that a partition has trouble, or with `None` that it has none.
    pub(super) fn set(&self, partition: &TopicPartition, trouble: Option<&BrokerError>) {
        match trouble {
            Some(error) => drop(self.lock().insert(partition.clone(), error.clone())),
            None => drop(self.lock().remove(partition)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TopicPartition, BrokerError>> {
        // Held for short, consistent changes only.
        self.by_partition.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
