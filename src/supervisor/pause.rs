use ractor::RpcReplyPort;

use super::actor::SupervisorActor;
use super::state::SupervisorState;
use crate::event::Event;
use crate::record::TopicPartition;

impl SupervisorActor {
    /// Pauses partitions or the whole consumer, or has them go on. Answered with those that the consumer does not have.
    pub(super) fn pause(
        &self,
        state: &mut SupervisorState,
        partitions: Option<Vec<TopicPartition>>,
        paused: bool,
        reply: RpcReplyPort<Vec<TopicPartition>>,
    ) {
        let mut unknown = Vec::new();
        match partitions {
            None => state.all_paused = paused,
            Some(partitions) => {
                for partition in partitions {
                    if !state.has(&partition) {
                        unknown.push(partition);
                    } else if paused {
                        state.paused.insert(partition);
                    } else {
                        state.paused.remove(&partition);
                    }
                }
            }
        }
        for (partition, managed) in &state.partitions {
            let paused = state.all_paused || state.paused.contains(partition);
            if managed.ownership.is_paused() != paused {
                managed.ownership.pause(paused);
                let partition = partition.clone();
                self.events.emit(if paused { Event::Paused { partition } } else { Event::Resumed { partition } });
            }
        }
        // Nobody waits any more: no error.
        let _ = reply.send(unknown);
    }
}

impl SupervisorState {
    /// Whether a partition is the consumer's, though it may not have started yet.
    fn has(&self, partition: &TopicPartition) -> bool {
        let claimed = self.membership.as_ref().is_some_and(|membership| membership.claims.contains_key(partition));
        claimed || self.partitions.contains_key(partition)
    }
}
