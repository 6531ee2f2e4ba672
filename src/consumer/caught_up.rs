use std::sync::Arc;
use std::time::Duration;

use ractor::ActorRef;
use ractor::rpc::CallResult;

use crate::broker::{Admin, OffsetSpec};
use crate::offsets::PartitionOffsets;
use crate::record::TopicPartition;
use crate::supervisor::SupervisorMessage;

/// How often it is looked whether the watermarks are there yet.
const LOOK: Duration = Duration::from_millis(20);
/// The wait after the broker could not say where a log ends.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Where each partition stands; empty once the consumer has ended.
pub(super) async fn positions(supervisor: &ActorRef<SupervisorMessage>) -> Vec<PartitionOffsets> {
    match supervisor.call(SupervisorMessage::Snapshot, None).await {
        Ok(CallResult::Success(positions)) => positions,
        _ => Vec::new(),
    }
}

/// Waits until everything below the present ends of the logs is settled, or the consumer has ended.
pub(super) async fn caught_up(supervisor: ActorRef<SupervisorMessage>, admin: Arc<dyn Admin>) {
    for position in positions(&supervisor).await {
        let Some(end) = log_end(&supervisor, &*admin, &position.partition).await else { return };
        while behind(&positions(&supervisor).await, &position.partition, end) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// The end of a partition's log, asked for until the broker answers; `None` once the consumer has ended.
async fn log_end(
    supervisor: &ActorRef<SupervisorMessage>,
    admin: &dyn Admin,
    partition: &TopicPartition,
) -> Option<i64> {
    loop {
        match admin.offset(partition.clone(), OffsetSpec::Latest).await {
            Ok(end) => return Some(end),
            Err(error) => {
                tracing::warn!(%partition, "cannot tell yet whether the consumer has caught up, asking again: {error}");
            }
        }
        if positions(supervisor).await.is_empty() {
            return None;
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

/// Whether `partition` has unsettled records below `end`. One that is not among the positions is given up.
fn behind(positions: &[PartitionOffsets], partition: &TopicPartition, end: i64) -> bool {
    positions.iter().any(|position| position.partition == *partition && position.watermark < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_behind_until_its_watermark_is_at_the_end() {
        let partition = TopicPartition::new("orders", 1);
        let at = |watermark| [PartitionOffsets { partition: partition.clone(), watermark, committed: 0, gaps: 0 }];
        assert!(behind(&at(6), &partition, 7));
        assert!(!behind(&at(7), &partition, 7) && !behind(&at(8), &partition, 7));
        // Another partition says nothing, nor does a consumer that has ended.
        assert!(!behind(&at(0), &TopicPartition::new("orders", 0), 7) && !behind(&[], &partition, 7));
    }
}
