use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Event;
use crate::record::TopicPartition;

/// What of the events still holds: for those who ask how the consumer is, and did not follow the stream.
#[derive(Debug, Default)]
pub(crate) struct Present(Mutex<State>);

/// What is wrong, or over, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The consumer stops, or has stopped.
    pub(crate) stopping: Option<String>,
    /// Partitions given up by policy.
    pub(crate) stopped: BTreeMap<TopicPartition, String>,
    /// Partitions whose restart is waited for.
    pub(crate) restarting: BTreeMap<TopicPartition, String>,
    /// Partitions that cannot be read for now.
    pub(crate) unreadable: BTreeMap<TopicPartition, String>,
    /// Dead letters that cannot be published for now: by their topic and the number of their source partition.
    pub(crate) held: BTreeMap<(String, i32), String>,
    /// Offsets cannot be committed for now.
    pub(crate) commits: Option<String>,
    /// The group's coordinator cannot be reached, say.
    pub(crate) group: Option<String>,
}

impl Present {
    #[cfg(any(test, feature = "web"))]
    pub(crate) fn state(&self) -> State {
        self.lock().clone()
    }

    /// Takes in what an event says.
    pub(super) fn observe(&self, event: &Event) {
        match event {
            Event::Stopping { reason } => self.lock().stopping = Some(reason.clone()),
            Event::PartitionStopped { partition, reason, .. } => {
                let mut state = self.lock();
                state.forget(partition);
                state.stopped.insert(partition.clone(), reason.clone());
            }
            Event::RestartScheduled { partition, reason, .. } => {
                self.lock().restarting.insert(partition.clone(), reason.clone());
            }
            Event::ReadFailing { partition, reason } => {
                self.lock().unreadable.insert(partition.clone(), reason.clone());
            }
            Event::ReadRecovered { partition } => drop(self.lock().unreadable.remove(partition)),
            Event::Assigned { partition, .. } | Event::Revoked { partition, .. } => self.lock().forget(partition),
            Event::Lost { partition, .. } => self.lock().forget(partition),
            Event::CommitFailing { reason } => self.lock().commits = Some(reason.clone()),
            Event::Committed { .. } => self.lock().commits = None,
            Event::GroupTrouble { reason } => self.lock().group = Some(reason.clone()),
            Event::Joined { .. } => self.lock().group = None,
            _ => {}
        }
    }

    /// What dead letters cannot be published for now: by their topic and the number of their source partition, and why.
    pub(crate) fn held(&self) -> BTreeMap<(String, i32), String> {
        self.lock().held.clone()
    }

    /// Dead letters of a source partition cannot be published, for this reason; or can again. How many source partitions' dead
    /// letters to that topic cannot be.
    pub(crate) fn hold(&self, topic: &str, source_partition: i32, reason: Option<&str>) -> usize {
        let mut state = self.lock();
        let key = (topic.to_owned(), source_partition);
        match reason {
            Some(reason) => drop(state.held.insert(key, reason.to_owned())),
            None => drop(state.held.remove(&key)),
        }
        state.held.keys().filter(|(held, _)| held == topic).count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A partition begins anew, or is gone.
    fn forget(&mut self, partition: &TopicPartition) {
        self.stopped.remove(partition);
        self.restarting.remove(partition);
        self.unreadable.remove(partition);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_forgotten() {
        let present = Present::default();
        let partition = TopicPartition::new("orders", 0);
        let reason = || "a reason".to_owned();
        present.observe(&Event::PartitionStopped { partition: partition.clone(), offset: 3, reason: reason() });
        present.observe(&Event::CommitFailing { reason: reason() });
        present.observe(&Event::GroupTrouble { reason: reason() });
        assert_eq!(present.hold("orders.dlq", 0, Some("full")), 1);
        assert_eq!(present.hold("orders.dlq", 1, Some("full")), 2);
        let state = present.state();
        assert_eq!(state.stopped[&partition], "a reason");
        assert_eq!((state.commits, state.group), (Some(reason()), Some(reason())));
        present.observe(&Event::Revoked { partition: partition.clone(), committed: 3 });
        present.observe(&Event::Committed { partitions: 1 });
        present.observe(&Event::Joined {
            group: String::new(),
            member_id: String::new(),
            epoch: 1,
            protocol: "consumer",
            assignor: String::new(),
            partitions: 0,
        });
        assert_eq!((present.hold("orders.dlq", 0, None), present.hold("orders.dlq", 1, None)), (1, 0));
        assert_eq!(present.state(), State::default());
    }
}
