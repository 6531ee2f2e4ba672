use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};

use super::Native;
use super::call::{Call, Failed};
use super::cluster::Cluster;
use super::topics::{leader, topic_name};
use crate::broker::{BoxFuture, BrokerError, OffsetSpec};
use crate::record::TopicPartition;

const EARLIEST: i64 = -2;
const LATEST: i64 = -1;

/// Which records count for the end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
enum Isolation {
    ReadUncommitted = 0,
    #[cfg(feature = "rskafka")] // whose adapter alone needs it so far
    ReadCommitted = 1,
}

impl Native {
    /// The end of what may be read of a partition while transactions are open (the last stable offset).
    #[cfg(feature = "rskafka")] // whose adapter alone needs it so far
    pub(in crate::broker) fn stable_end(&self, partition: TopicPartition) -> BoxFuture<Result<i64, BrokerError>> {
        let call = self.call(format!("reading the last stable offset of {partition}"));
        self.run(call, |cluster, call| async move {
            ask(&cluster, &call, &partition, LATEST, Isolation::ReadCommitted).await
        })
    }

    /// An offset of a partition's log.
    pub(super) fn list_offset(
        &self,
        partition: TopicPartition,
        spec: OffsetSpec,
    ) -> BoxFuture<Result<i64, BrokerError>> {
        let call = self.call(format!("reading an offset of {partition}"));
        self.run(call, move |cluster, call| async move {
            let timestamp = match spec {
                OffsetSpec::Earliest => EARLIEST,
                OffsetSpec::Latest => LATEST,
                OffsetSpec::Timestamp(millis) if millis < 0 => {
                    // Negative timestamps have meanings of their own in the protocol.
                    return Err(BrokerError::Unsupported {
                        doing: call.doing().to_owned(),
                        remedy: format!("{millis} lies before 1970; use earliest or a time since then"),
                    });
                }
                OffsetSpec::Timestamp(millis) => millis,
            };
            match ask(&cluster, &call, &partition, timestamp, Isolation::ReadUncommitted).await? {
                -1 => ask(&cluster, &call, &partition, LATEST, Isolation::ReadUncommitted).await,
                offset => Ok(offset),
            }
        })
    }
}

/// Asks the partition's leader, and looks for it again where it has moved.
async fn ask(
    cluster: &Cluster,
    call: &Call,
    partition: &TopicPartition,
    timestamp: i64,
    isolation: Isolation,
) -> Result<i64, BrokerError> {
    call.retry(async || {
        let leader = leader(cluster, call, partition.topic(), partition.partition()).await?;
        let wanted =
            ListOffsetsPartition::default().with_partition_index(partition.partition()).with_timestamp(timestamp);
        let topic = ListOffsetsTopic::default().with_name(topic_name(partition.topic())).with_partitions(vec![wanted]);
        let request = ListOffsetsRequest::default()
            .with_replica_id((-1).into())
            .with_isolation_level(isolation as i8)
            .with_topics(vec![topic]);
        let answer = cluster.broker(leader, call).await?.call(call, |_| request).await?;
        let answers = answer.topics.iter().filter(|topic| &*topic.name.0 == partition.topic());
        let found = answers
            .flat_map(|topic| &topic.partitions)
            .find(|found| found.partition_index == partition.partition())
            .ok_or_else(|| call.malformed("the partition is missing"))?;
        match found.error_code {
            0 => Ok(found.offset),
            code if code == ResponseError::UnknownTopicOrPartition.code() => {
                // Metadata has just said that it exists: its leader learns of it later than others.
                Err(Failed::ForNow(call.response(code, None)))
            }
            code => Err(Failed::by_code(call, code, None)),
        }
    })
    .await
}
