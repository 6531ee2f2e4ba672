use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ractor::ActorRef;
use ractor::rpc::CallResult;
use tokio::sync::watch;

use crate::broker::{Admin, OffsetSpec};
use crate::record::TopicPartition;
use crate::supervisor::{PartitionStatus, SupervisorMessage};

/// How often it is looked whether the watermarks are there yet.
const LOOK: Duration = Duration::from_millis(20);
/// The wait after the broker could not say where a log ends.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Waits until everything below the ends that the logs had when it was first looked is settled, or the consumer has ended.
/// `joined` is there for a member of a group: how many partitions it has.
pub(super) async fn caught_up(
    supervisor: ActorRef<SupervisorMessage>,
    admin: Arc<dyn Admin>,
    joined: Option<watch::Receiver<Option<usize>>>,
) {
    let mut ends = BTreeMap::new();
    loop {
        let assigned = joined.as_ref().map_or(Some(0), |joined| *joined.borrow());
        let Ok(CallResult::Success(partitions)) = supervisor.call(SupervisorMessage::Status, None).await else {
            return;
        };
        let new: Vec<_> = partitions.iter().map(|it| &it.partition).filter(|it| !ends.contains_key(*it)).collect();
        if !new.is_empty() {
            let asked = new.iter().map(|partition| ((*partition).clone(), OffsetSpec::Latest)).collect();
            match admin.offsets(asked).await {
                Ok(found) => ends.extend(new.into_iter().cloned().zip(found)),
                Err(error) => {
                    tracing::warn!("cannot tell yet whether the consumer has caught up, asking again: {error}");
                    tokio::time::sleep(ASK_AGAIN).await;
                    continue;
                }
            }
        }
        // Fewer than assigned: their starts are being looked for, or some were given up and the group is not done yet.
        if assigned.is_some_and(|assigned| partitions.len() >= assigned) && !behind(&partitions, &ends) {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether a partition has unsettled records below its end. What the consumer does not have any more is not waited for.
fn behind(partitions: &[PartitionStatus], ends: &BTreeMap<TopicPartition, i64>) -> bool {
    partitions.iter().any(|it| ends.get(&it.partition).is_none_or(|end| it.watermark < *end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervisor::PartitionState;

    #[test]
    fn a_partition_is_behind_until_its_watermark_is_at_the_end() {
        let partition = |number| TopicPartition::new("orders", number);
        let at = |watermark| PartitionStatus {
            partition: partition(1),
            state: PartitionState::Running,
            position: watermark,
            watermark,
            committed: 0,
            log_end: None,
            lag: None,
            unacknowledged: 0,
            in_flight: false,
            paused: false,
            retrying: None,
        };
        let ends = BTreeMap::from([(partition(0), 9), (partition(1), 7)]);
        assert!(behind(&[at(6)], &ends));
        assert!(!behind(&[at(7)], &ends) && !behind(&[at(8)], &ends));
        // What has left is not waited for; what has come and was not asked about is.
        assert!(!behind(&[], &ends) && behind(&[at(8)], &BTreeMap::new()));
    }
}
