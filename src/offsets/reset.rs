use serde::{Deserialize, Serialize};

use crate::broker::{BrokerError, CommittedOffset, OffsetSpec, Ports};
use crate::record::TopicPartition;

/// Where a partition starts when its group has no committed offset, or the offset is no longer (or not yet) in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OffsetReset {
    /// At the first record in the log.
    #[default]
    Earliest,
    /// After the last record in the log: only what comes later is processed.
    Latest,
    /// Nowhere: an error that names the partition.
    None,
}

/// Why a start offset could not be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The reset policy is [`OffsetReset::None`].
    #[error(
        "group {group:?} has no valid committed offset for {partition} and offset_reset is \"none\": commit one (Kafka's consumer-groups tool can), or set offset_reset to \"earliest\" or \"latest\""
    )]
    NoOffset {
        /// The group.
        group: String,
        /// The partition.
        partition: TopicPartition,
    },
    /// The broker could not be asked, or refused.
    #[error(transparent)]
    Broker(#[from] BrokerError),
}

/// Where a partition starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartOffset {
    pub(crate) partition: TopicPartition,
    pub(crate) offset: i64,
    /// Whether the reset policy chose it.
    pub(crate) reset: bool,
}

/// Finds the start offsets, and commits those that the reset policy chose before anything is dispatched, so that
/// `latest` and a crash skip nothing.
pub(crate) async fn resolve(
    ports: &Ports,
    group: &str,
    partitions: Vec<TopicPartition>,
    policy: OffsetReset,
) -> Result<Vec<StartOffset>, ResolveError> {
    let committed = ports.offsets.fetch(group.to_owned(), partitions.clone()).await?;
    let mut starts = Vec::with_capacity(partitions.len());
    for (partition, committed) in partitions.into_iter().zip(committed) {
        starts.push(match committed {
            Some(committed) => StartOffset { partition, offset: committed.offset, reset: false },
            None => {
                let offset = choose(ports, group, &partition, policy).await?;
                StartOffset { partition, offset, reset: true }
            }
        });
    }
    let chosen: Vec<_> = starts.iter().filter(|start| start.reset).map(commit_of).collect();
    commit(ports, group, chosen).await?;
    Ok(starts)
}

fn commit_of(start: &StartOffset) -> CommittedOffset {
    CommittedOffset::new(start.partition.clone(), start.offset)
}

/// Commits, failing if any one of the offsets cannot be committed.
pub(crate) async fn commit(ports: &Ports, group: &str, offsets: Vec<CommittedOffset>) -> Result<(), BrokerError> {
    if offsets.is_empty() {
        return Ok(());
    }
    ports.offsets.commit(group.to_owned(), offsets).await?.into_iter().collect()
}

/// The offset that the reset policy chooses.
pub(crate) async fn choose(
    ports: &Ports,
    group: &str,
    partition: &TopicPartition,
    policy: OffsetReset,
) -> Result<i64, ResolveError> {
    let spec = match policy {
        OffsetReset::Earliest => OffsetSpec::Earliest,
        OffsetReset::Latest => OffsetSpec::Latest,
        OffsetReset::None => {
            return Err(ResolveError::NoOffset { group: group.to_owned(), partition: partition.clone() });
        }
    };
    Ok(ports.admin.offset(partition.clone(), spec).await?)
}
