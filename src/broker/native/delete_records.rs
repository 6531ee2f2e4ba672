use kafka_protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic,
};

use super::call::{Call, Failed};
use super::cluster::{Cluster, Purpose};
use super::topics::topic_name;
use crate::broker::{BrokerError, ErrorCode};
use crate::record::TopicPartition;

/// Moves the start of a partition's log forward, and returns where it is then. Twice is as good as once.
pub(super) async fn delete(
    cluster: &Cluster,
    call: &Call,
    partition: &TopicPartition,
    before: i64,
) -> Result<i64, BrokerError> {
    let mut pauses = call.pauses();
    let mut moved = false;
    loop {
        match round(cluster, call, partition, before, moved).await {
            Ok(start) => return Ok(start),
            Err(failed) => pauses.after(failed).await?,
        }
        moved = true;
    }
}

/// `moved`: the leader was not where it was thought to be.
async fn round(
    cluster: &Cluster,
    call: &Call,
    partition: &TopicPartition,
    before: i64,
    moved: bool,
) -> Result<i64, Failed> {
    let topics = [partition.topic().to_owned()];
    if moved {
        cluster.refresh(call, &topics).await?;
    } else {
        cluster.know(call, &topics).await?;
    }
    let leader = match cluster.leaders.of(partition) {
        Some(Ok(leader)) => leader.broker,
        Some(Err(code)) if code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
            return Err(Failed::ForGood(call.response(code.0, None)));
        }
        Some(Err(code)) => return Err(Failed::by_code(call, code.0, None)),
        None => return Err(call.malformed("metadata lacks the topic").into()),
    };
    let wanted = DeleteRecordsPartition::default().with_partition_index(partition.partition()).with_offset(before);
    let topic = DeleteRecordsTopic::default().with_name(topic_name(partition.topic())).with_partitions(vec![wanted]);
    let request = DeleteRecordsRequest::default().with_topics(vec![topic]).with_timeout_ms(call.millis_left());
    let connection = cluster.broker_for(leader, Purpose::Control, call).await?;
    let answer = connection.call(call, |_| request).await?;
    let found = answer.topics.first().and_then(|topic| topic.partitions.first());
    let found = found.ok_or_else(|| call.malformed("the partition is missing"))?;
    match found.error_code {
        0 => Ok(found.low_watermark),
        code => Err(Failed::by_code(call, code, None)),
    }
}
