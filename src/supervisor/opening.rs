use std::sync::Arc;

use ractor::{ActorRef, rpc::CallResult};

use super::actor::SupervisorActor;
use super::message::{Assignment, OwnershipKey, SupervisorMessage};
use super::state::{Managed, SupervisorState};
use crate::broker::{BrokerError, Feed};
use crate::event::Event;
use crate::offsets::OffsetsMessage;
use crate::partition::Ownership;

type Myself = ActorRef<SupervisorMessage>;

impl SupervisorActor {
    /// Begins ownerships. Nothing is fetched or dispatched before their starts are committed.
    pub(super) fn open(&self, myself: &Myself, state: &mut SupervisorState, assignments: Vec<Assignment>) {
        if state.drain.is_some() {
            return;
        }
        let mut opened = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let committed = assignment.beginning.committed;
            opened.push((self.begin(myself, state, assignment), committed));
        }
        // After all of them are open, so that one commit is for all.
        for (key, committed) in opened {
            if committed {
                self.opened(myself, state, &key, Ok(()));
            } else {
                self.commit_start(myself, state, key);
            }
        }
    }

    fn begin(&self, myself: &Myself, state: &mut SupervisorState, assignment: Assignment) -> OwnershipKey {
        let Assignment { partition, topic_id, topic_index, beginning, reset, tenure } = assignment;
        state.epoch += 1;
        let key = OwnershipKey { partition: partition.clone(), epoch: state.epoch };
        let (reporter, reported) = (myself.clone(), key.clone());
        let feed = Arc::new(Feed::new(partition.clone(), self.settings.feed_bytes, move |problem| {
            let _ = reporter.cast(SupervisorMessage::Source { key: reported.clone(), problem });
        }));
        let ownership = Ownership::new(partition.clone(), key.epoch, beginning.start, feed).leased(tenure);
        ownership.pause(state.all_paused || state.paused.contains(&partition));
        let mut managed = Managed::new(ownership, topic_index, self.planes.next_lane());
        managed.topic_id = topic_id;
        managed.leader_epoch = beginning.leader_epoch;
        self.events.emit(Event::Assigned { partition: partition.clone(), offset: beginning.start, reset });
        let opened = OffsetsMessage::Open { partition: partition.clone(), epoch: key.epoch, beginning };
        // A failed cast means that the offsets actor is gone, which its own end reports.
        let _ = state.offsets.cast(opened);
        state.partitions.insert(partition, managed);
        key
    }

    fn commit_start(&self, myself: &Myself, state: &SupervisorState, key: OwnershipKey) {
        let (offsets, myself) = (state.offsets.clone(), myself.clone());
        tokio::spawn(async move {
            let (partition, epoch) = (key.partition.clone(), key.epoch);
            let commit = |reply| OffsetsMessage::CommitStart { partition, epoch, reply };
            // Without an answer the consumer ends.
            if let Ok(CallResult::Success(result)) = offsets.call(commit, None).await {
                let _ = myself.cast(SupervisorMessage::Opened { key, result });
            }
        });
    }

    /// Reads an ownership whose start is committed, and starts its first incarnation.
    pub(super) fn opened(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        key: &OwnershipKey,
        result: Result<(), BrokerError>,
    ) {
        let Some(managed) = state.current(key).filter(|managed| !managed.is_stopped()) else { return };
        if let Err(error) = result {
            let partition = &key.partition;
            let reason =
                format!("the start offset {} of {partition} cannot be committed: {error}", managed.ownership.start);
            return self.halt(myself, state, reason);
        }
        let (start, feed) = (managed.ownership.start, Arc::clone(&managed.ownership.feed));
        let (topic_id, leader_epoch) = (managed.topic_id, managed.leader_epoch);
        managed.answer_seeker(Ok(start));
        self.ports.source.add_at(key.partition.clone(), topic_id, start, leader_epoch, feed);
        self.start(myself, state, key);
    }
}
