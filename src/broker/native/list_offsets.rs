use std::collections::{BTreeMap, HashMap};

use futures_util::future::join_all;
use kafka_protocol::messages::ListOffsetsResponse;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};

use super::Native;
use super::call::{Call, Failed};
use super::cluster::{Cluster, Purpose};
use super::topics::topic_name;
use crate::broker::{BoxFuture, BrokerError, ErrorCode, OffsetSpec};
use crate::record::TopicPartition;

const EARLIEST: i64 = -2;
const LATEST: i64 = -1;
const MAX_TIMESTAMP: i64 = -3;

/// The version of ListOffsets from which on it tells the record with the latest timestamp.
const MAX_TIMESTAMP_SINCE: i16 = 7;

/// Which records count for the end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
enum Isolation {
    ReadUncommitted = 0,
    #[cfg(feature = "rskafka")] // whose adapter alone needs it so far
    ReadCommitted = 1,
}

/// A partition, and the timestamp that stands for the offset asked for.
type Asked = (TopicPartition, i64);

/// The offsets found so far, by place in what was asked for.
type Found = HashMap<usize, i64>;

impl Native {
    /// The end of what may be read of a partition while transactions are open (the last stable offset).
    #[cfg(feature = "rskafka")] // whose adapter alone needs it so far
    pub(in crate::broker) fn stable_end(&self, partition: TopicPartition) -> BoxFuture<Result<i64, BrokerError>> {
        let call = self.call(format!("reading the last stable offset of {partition}"));
        self.run(call, |cluster, call| async move {
            let found = ask(&cluster, &call, &[(partition, LATEST)], Isolation::ReadCommitted).await?;
            found.first().copied().ok_or_else(|| call.malformed("the partition is missing"))
        })
    }

    /// Offsets of partitions' logs, in the order asked for: one request to each leader.
    pub(super) fn list_offsets(
        &self,
        asked: Vec<(TopicPartition, OffsetSpec)>,
    ) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        let call = self.call(describe(&asked));
        self.run(call, move |cluster, call| async move {
            let asked: Vec<Asked> = asked
                .into_iter()
                .map(|(partition, spec)| Ok((partition, timestamp(&call, spec)?)))
                .collect::<Result<_, BrokerError>>()?;
            let mut offsets = ask(&cluster, &call, &asked, Isolation::ReadUncommitted).await?;
            // Where no record is that late, the end of the log.
            let late: Vec<usize> = (0..offsets.len()).filter(|index| offsets[*index] < 0).collect();
            let ends: Vec<Asked> = late.iter().map(|index| (asked[*index].0.clone(), LATEST)).collect();
            let ends = ask(&cluster, &call, &ends, Isolation::ReadUncommitted).await?;
            for (index, end) in late.into_iter().zip(ends) {
                offsets[index] = end;
            }
            Ok(offsets)
        })
    }
}

fn describe(asked: &[(TopicPartition, OffsetSpec)]) -> String {
    match asked {
        [(partition, _)] => format!("reading an offset of {partition}"),
        [(partition, _), rest @ ..] => format!("reading offsets of {partition} and {} more", rest.len()),
        [] => "reading no offsets".to_owned(),
    }
}

/// What stands for an offset in the protocol.
fn timestamp(call: &Call, spec: OffsetSpec) -> Result<i64, BrokerError> {
    match spec {
        OffsetSpec::Earliest => Ok(EARLIEST),
        OffsetSpec::Latest => Ok(LATEST),
        OffsetSpec::MaxTimestamp => Ok(MAX_TIMESTAMP),
        // Negative timestamps have meanings of their own in the protocol.
        OffsetSpec::Timestamp(millis) if millis < 0 => Err(BrokerError::Unsupported {
            doing: call.doing().to_owned(),
            remedy: format!("{millis} lies before 1970; use earliest or a time since then"),
        }),
        OffsetSpec::Timestamp(millis) => Ok(millis),
    }
}

/// Asks the leaders of partitions, and looks for those again that have moved.
async fn ask(cluster: &Cluster, call: &Call, asked: &[Asked], isolation: Isolation) -> Result<Vec<i64>, BrokerError> {
    let mut found = Found::new();
    let mut pauses = call.pauses();
    let mut moved = false;
    while let Err(failed) = round(cluster, call, asked, isolation, &mut found, moved).await {
        pauses.after(failed).await?;
        moved = true;
    }
    (0..asked.len())
        .map(|place| found.get(&place).copied().ok_or_else(|| call.malformed("an offset is missing")))
        .collect()
}

/// Asks for the offsets that are not found yet. `moved`: leaders were not where they were thought to be.
async fn round(
    cluster: &Cluster,
    call: &Call,
    asked: &[Asked],
    isolation: Isolation,
    found: &mut Found,
    moved: bool,
) -> Result<(), Failed> {
    let missing = (0..asked.len()).filter(|place| !found.contains_key(place)).collect();
    let leaders = by_leader(cluster, call, asked, missing, moved).await?;
    let requests =
        leaders.iter().map(|((leader, _), wanted)| ask_leader(cluster, call, *leader, asked, wanted, isolation));
    let mut result = Ok(());
    for (answer, wanted) in join_all(requests).await.into_iter().zip(leaders.values()) {
        let failures = match answer {
            Ok(answer) => {
                let (offsets, failures) = take(call, asked, wanted, &answer);
                found.extend(offsets);
                failures
            }
            Err(failed) => vec![failed],
        };
        for failed in failures {
            // What is for good is told before what is for now.
            if result.is_ok() || matches!(failed, Failed::ForGood(_)) {
                result = Err(failed);
            }
        }
    }
    result
}

/// The places in `asked` that are still `missing`, by the broker that leads their partition and by how many of the same
/// partition came before: a request may name a partition once.
async fn by_leader(
    cluster: &Cluster,
    call: &Call,
    asked: &[Asked],
    missing: Vec<usize>,
    moved: bool,
) -> Result<BTreeMap<(i32, usize), Vec<usize>>, Failed> {
    let mut topics: Vec<_> = missing.iter().map(|place| asked[*place].0.topic().to_owned()).collect();
    topics.sort();
    topics.dedup();
    if moved {
        cluster.refresh(call, &topics).await?;
    } else {
        cluster.know(call, &topics).await?;
    }
    let mut leaders = BTreeMap::<(i32, usize), Vec<usize>>::new();
    let mut times = HashMap::<&TopicPartition, usize>::new();
    for place in missing {
        let partition = &asked[place].0;
        let leader = match cluster.leaders.of(partition) {
            // A partition that was added since metadata was last read.
            Some(Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)) if !moved => {
                cluster.refresh(call, &[partition.topic().to_owned()]).await?;
                cluster.leaders.of(partition)
            }
            known => known,
        };
        let call = call.part(format!("reading an offset of {partition}"));
        match leader {
            Some(Ok(leader)) => {
                let before = times.entry(partition).or_default();
                leaders.entry((leader.broker, *before)).or_default().push(place);
                *before += 1;
            }
            // It may be so new that this broker has not heard of it, but waiting for one that does not exist helps nobody.
            Some(Err(code)) if code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
                return Err(Failed::ForGood(call.response(code.0, None)));
            }
            Some(Err(code)) => return Err(Failed::by_code(&call, code.0, None)),
            None => return Err(call.malformed("metadata lacks the topic").into()),
        }
    }
    Ok(leaders)
}

async fn ask_leader(
    cluster: &Cluster,
    call: &Call,
    leader: i32,
    asked: &[Asked],
    wanted: &[usize],
    isolation: Isolation,
) -> Result<ListOffsetsResponse, Failed> {
    let mut topics = BTreeMap::<&str, Vec<ListOffsetsPartition>>::new();
    for (partition, timestamp) in wanted.iter().map(|place| &asked[*place]) {
        let entry =
            ListOffsetsPartition::default().with_partition_index(partition.partition()).with_timestamp(*timestamp);
        topics.entry(partition.topic()).or_default().push(entry);
    }
    let topics = topics
        .into_iter()
        .map(|(topic, partitions)| ListOffsetsTopic::default().with_name(topic_name(topic)).with_partitions(partitions))
        .collect();
    let connection = cluster.broker_for(leader, Purpose::Control, call).await?;
    let newest = wanted.iter().any(|place| asked[*place].1 == MAX_TIMESTAMP);
    if newest && connection.version::<ListOffsetsRequest>(call)? < MAX_TIMESTAMP_SINCE {
        return Err(Failed::ForGood(BrokerError::Unsupported {
            doing: call.doing().to_owned(),
            remedy: "the broker cannot tell the record with the latest timestamp; Kafka 3.0 and later can".to_owned(),
        }));
    }
    let request = ListOffsetsRequest::default()
        .with_replica_id((-1).into())
        .with_isolation_level(isolation as i8)
        .with_topics(topics);
    Ok(connection.call(call, |_| request).await?)
}

/// The offsets in an answer, and what failed.
fn take(call: &Call, asked: &[Asked], wanted: &[usize], answer: &ListOffsetsResponse) -> (Found, Vec<Failed>) {
    let mut answers = HashMap::new();
    for topic in &answer.topics {
        for partition in &topic.partitions {
            answers.insert((&*topic.name.0, partition.partition_index), (partition.error_code, partition.offset));
        }
    }
    let (mut found, mut failures) = (Found::new(), Vec::new());
    for place in wanted {
        let partition = &asked[*place].0;
        let call = call.part(format!("reading an offset of {partition}"));
        match answers.get(&(partition.topic(), partition.partition())) {
            Some((0, offset)) => {
                found.insert(*place, *offset);
            }
            // Metadata says that it exists: its leader learns of it later than others.
            Some((code, _)) if *code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0 => {
                failures.push(Failed::ForNow(call.response(*code, None)));
            }
            Some((code, _)) => failures.push(Failed::by_code(&call, *code, None)),
            None => failures.push(call.malformed("the partition is missing").into()),
        }
    }
    (found, failures)
}
