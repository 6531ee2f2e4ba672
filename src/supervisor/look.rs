use std::collections::HashMap;

use ractor::{RpcReplyPort, rpc::CallResult};

use super::actor::SupervisorActor;
use super::state::{Managed, Phase, SupervisorState};
use super::status::{PartitionState, PartitionStatus};
use crate::offsets::OffsetsMessage;
use crate::record::TopicPartition;

impl SupervisorActor {
    /// Where each partition stands. The offsets actor, which knows the rest, is asked in a task of its own.
    pub(super) fn status(&self, state: &SupervisorState, reply: RpcReplyPort<Vec<PartitionStatus>>) {
        let draining = state.drain.is_some();
        let partitions = state.partitions.iter();
        let statuses = partitions.map(|(partition, managed)| self.status_of(partition, managed, draining));
        let claims = state.membership.iter().flat_map(|membership| membership.claims.keys());
        let claims = claims.map(|partition| claimed(partition, state.all_paused || state.paused.contains(partition)));
        let mut statuses: Vec<_> = statuses.chain(claims).collect();
        let offsets = state.offsets.clone();
        tokio::spawn(async move {
            // If the offsets actor is gone, so is the reply, and the caller learns it.
            let Ok(CallResult::Success(all)) = offsets.call(OffsetsMessage::Snapshot, None).await else { return };
            let mut all: HashMap<_, _> = all.into_iter().map(|offsets| (offsets.partition.clone(), offsets)).collect();
            for status in &mut statuses {
                if let Some(offsets) = all.remove(&status.partition) {
                    status.watermark = offsets.watermark;
                    status.committed = offsets.committed;
                }
                status.lag = status.log_end.map(|end| u64::try_from(end - status.watermark).unwrap_or_default());
            }
            let _ = reply.send(statuses);
        });
    }

    fn status_of(&self, partition: &TopicPartition, managed: &Managed, draining: bool) -> PartitionStatus {
        let ownership = &managed.ownership;
        PartitionStatus {
            partition: partition.clone(),
            state: self.state_of(managed, draining),
            position: ownership.position(),
            // Those of a partition that moves elsewhere are not kept: it starts anew.
            watermark: ownership.start,
            committed: ownership.start,
            log_end: ownership.feed.log_end(),
            lag: None,
            unacknowledged: ownership.unacknowledged(),
            in_flight: ownership.is_in_flight(),
            paused: ownership.is_paused(),
            retrying: ownership.retrying().map(|retry| (retry.offset, retry.attempts)),
        }
    }

    fn state_of(&self, managed: &Managed, draining: bool) -> PartitionState {
        let ownership = &managed.ownership;
        match &managed.phase {
            _ if managed.leaving.is_some() || (draining && !managed.is_stopped()) => PartitionState::Revoking,
            _ if managed.moving => PartitionState::Restarting,
            Phase::Opening => PartitionState::Starting,
            Phase::Pending if managed.incarnation <= 1 && ownership.retrying().is_none() => PartitionState::Starting,
            Phase::Pending | Phase::Waiting => PartitionState::Restarting,
            Phase::Stopped => PartitionState::Stopped,
            Phase::Running(_) if ownership.is_paused() => PartitionState::Paused,
            Phase::Running(_) if ownership.unacknowledged() > self.settings.max_unacknowledged => PartitionState::Held,
            Phase::Running(_) => PartitionState::Running,
        }
    }
}

/// A partition whose start is being looked for.
fn claimed(partition: &TopicPartition, paused: bool) -> PartitionStatus {
    PartitionStatus {
        partition: partition.clone(),
        state: PartitionState::Starting,
        position: -1,
        watermark: -1,
        committed: -1,
        log_end: None,
        lag: None,
        unacknowledged: 0,
        in_flight: false,
        paused,
        retrying: None,
    }
}
