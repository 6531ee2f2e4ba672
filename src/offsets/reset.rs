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
    let missing = partitions.iter().zip(&committed).filter(|(_, committed)| committed.is_none());
    let asked = missing.map(|(partition, _)| Ok((partition.clone(), reset(group, partition, policy)?)));
    let asked: Vec<_> = asked.collect::<Result<_, ResolveError>>()?;
    let mut chosen = match asked.is_empty() {
        true => Vec::new(),
        false => ports.admin.offsets(asked).await?,
    }
    .into_iter();
    let mut starts = Vec::with_capacity(partitions.len());
    for (partition, committed) in partitions.into_iter().zip(committed) {
        let (offset, reset) = match committed {
            Some(committed) => (committed.offset, false),
            None => (chosen.next().ok_or_else(|| lost(&partition))?, true),
        };
        starts.push(StartOffset { partition, offset, reset });
    }
    let chosen: Vec<_> = starts.iter().filter(|start| start.reset).map(commit_of).collect();
    commit(ports, group, chosen).await?;
    Ok(starts)
}

/// An adapter that answers with fewer offsets than it was asked for.
fn lost(partition: &TopicPartition) -> BrokerError {
    BrokerError::Malformed {
        doing: format!("reading an offset of {partition}"),
        cause: "the adapter left it out".to_owned(),
    }
}

fn commit_of(start: &StartOffset) -> CommittedOffset {
    CommittedOffset::new(start.partition.clone(), start.offset)
}

/// Commits, failing if any one of the offsets cannot be committed.
async fn commit(ports: &Ports, group: &str, offsets: Vec<CommittedOffset>) -> Result<(), BrokerError> {
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
    Ok(ports.admin.offset(partition.clone(), reset(group, partition, policy)?).await?)
}

/// The offset that the reset policy stands for.
fn reset(group: &str, partition: &TopicPartition, policy: OffsetReset) -> Result<OffsetSpec, ResolveError> {
    match policy {
        OffsetReset::Earliest => Ok(OffsetSpec::Earliest),
        OffsetReset::Latest => Ok(OffsetSpec::Latest),
        OffsetReset::None => Err(ResolveError::NoOffset { group: group.to_owned(), partition: partition.clone() }),
    }
}
