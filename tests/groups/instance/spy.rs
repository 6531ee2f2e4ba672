//! The ports of an instance, with somebody who watches: what is sent and answered is noted, and until when the member may
//! work is computed from the requests alone, apart from the code under test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bezoar::broker::{
    BoxFuture, BrokerError, CommittedOffset, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode, JoinAnswer,
    JoinGroup, MemberIdentity, Membership, OffsetStore, Ports, Produce, SyncGroup,
};
use bezoar::dead_letter::names;
use bezoar::record::{ProducerRecord, TopicPartition};
use bytes::Bytes;
use tokio::time::Instant;

use crate::journal::{Journal, What};

/// Until when the member may work: the lease's length after the sending of the last request that proved the membership.
#[derive(Clone)]
pub(crate) struct Tenure {
    base: Instant,
    /// Nanoseconds since `base`.
    until: Arc<AtomicU64>,
    lease: Duration,
}

impl Tenure {
    pub(crate) fn new(lease: Duration) -> Self {
        Self { base: Instant::now(), until: Arc::default(), lease }
    }

    fn proved(&self, sent: Instant) {
        let until = (sent + self.lease).duration_since(self.base).as_nanos() as u64;
        self.until.fetch_max(until, Ordering::AcqRel);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.base.elapsed().as_nanos() as u64 > self.until.load(Ordering::Acquire)
    }
}

/// The same ports, watched.
pub(crate) fn watched(ports: Ports, journal: &Journal, tenure: &Tenure) -> Ports {
    let membership = ports.membership.clone().expect("the native plane can be a member");
    Ports {
        membership: Some(Arc::new(Member { inner: membership, journal: journal.clone(), tenure: tenure.clone() })),
        offsets: Arc::new(Offsets { inner: Arc::clone(&ports.offsets), journal: journal.clone() }),
        produce: Arc::new(Letters {
            inner: Arc::clone(&ports.produce),
            journal: journal.clone(),
            tenure: tenure.clone(),
        }),
        ..ports
    }
}

struct Member {
    inner: Arc<dyn Membership>,
    journal: Journal,
    tenure: Tenure,
}

impl Member {
    /// Notes what is refused, and takes as proof what `proof` says is one, before the member hears of it.
    fn watch<T: Send + 'static>(
        &self,
        doing: &'static str,
        call: BoxFuture<Result<T, BrokerError>>,
        proof: fn(&Result<T, BrokerError>) -> bool,
    ) -> BoxFuture<Result<T, BrokerError>> {
        let (journal, tenure, sent) = (self.journal.clone(), self.tenure.clone(), Instant::now());
        Box::pin(async move {
            let answer = call.await;
            if proof(&answer) {
                tenure.proved(sent);
            }
            if let Err(error) = &answer {
                journal.tell(format!("{doing}: {error}"));
            }
            answer
        })
    }
}

impl Membership for Member {
    fn offers_consumer_protocol(&self, group: String) -> BoxFuture<Result<bool, BrokerError>> {
        self.inner.offers_consumer_protocol(group)
    }

    fn consumer_heartbeat(
        &self,
        heartbeat: ConsumerHeartbeat,
    ) -> BoxFuture<Result<ConsumerHeartbeatAnswer, BrokerError>> {
        self.watch("heartbeat", self.inner.consumer_heartbeat(heartbeat), Result::is_ok)
    }

    fn join(&self, join: JoinGroup) -> BoxFuture<Result<Result<JoinAnswer, String>, BrokerError>> {
        self.watch("join", self.inner.join(join), |answer| matches!(answer, Ok(Ok(_))))
    }

    fn sync(&self, sync: SyncGroup) -> BoxFuture<Result<Bytes, BrokerError>> {
        self.watch("sync", self.inner.sync(sync), Result::is_ok)
    }

    fn heartbeat(&self, group: String, member: MemberIdentity) -> BoxFuture<Result<(), BrokerError>> {
        self.watch("heartbeat", self.inner.heartbeat(group, member), |answer| match answer {
            Ok(()) => true,
            // The coordinator knows the member, and waits for it.
            Err(error) => error.code() == Some(ErrorCode::REBALANCE_IN_PROGRESS),
        })
    }

    fn leave(&self, group: String, member: MemberIdentity, reason: String) -> BoxFuture<Result<(), BrokerError>> {
        self.watch("leave", self.inner.leave(group, member, reason), |_| false)
    }
}

type Commits = Result<Vec<Result<(), BrokerError>>, BrokerError>;

struct Offsets {
    inner: Arc<dyn OffsetStore>,
    journal: Journal,
}

impl Offsets {
    fn watch(&self, offsets: &[CommittedOffset], call: BoxFuture<Commits>) -> BoxFuture<Commits> {
        let wanted: Vec<(i32, i64)> =
            offsets.iter().map(|committed| (committed.partition.partition(), committed.offset)).collect();
        let journal = self.journal.clone();
        Box::pin(async move {
            let answer = call.await;
            match &answer {
                Ok(results) => {
                    for ((partition, offset), result) in wanted.into_iter().zip(results) {
                        match result {
                            Ok(()) => journal.note(What::Committed { partition, offset }),
                            Err(error) => journal.tell(format!("commit of {partition} at {offset}: {error}")),
                        }
                    }
                }
                Err(error) => journal.tell(format!("commit: {error}")),
            }
            answer
        })
    }
}

impl OffsetStore for Offsets {
    fn fetch(
        &self,
        group: String,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<Result<Vec<Option<CommittedOffset>>, BrokerError>> {
        self.inner.fetch(group, partitions)
    }

    fn commit(&self, group: String, offsets: Vec<CommittedOffset>) -> BoxFuture<Commits> {
        // Not as a member: nothing would keep a fenced owner from moving what is another's by now.
        self.journal.note(What::Halted("offsets were committed without an identity".to_owned()));
        self.inner.commit(group, offsets)
    }

    fn commit_as(&self, group: String, member: MemberIdentity, offsets: Vec<CommittedOffset>) -> BoxFuture<Commits> {
        self.watch(&offsets, self.inner.commit_as(group, member, offsets.clone()))
    }

    fn group_exists(&self, group: String) -> BoxFuture<Result<bool, BrokerError>> {
        self.inner.group_exists(group)
    }

    fn delete_group(&self, group: String) -> BoxFuture<Result<(), BrokerError>> {
        self.inner.delete_group(group)
    }
}

struct Letters {
    inner: Arc<dyn Produce>,
    journal: Journal,
    tenure: Tenure,
}

impl Produce for Letters {
    fn produce(
        &self,
        partition: TopicPartition,
        records: Vec<ProducerRecord>,
    ) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        let late = self.tenure.is_over();
        let sources: Vec<(i32, i64)> = records.iter().map(source).collect();
        for &(partition, offset) in &sources {
            self.journal.note(What::SendsLetter { partition, offset, late });
        }
        let (journal, call) = (self.journal.clone(), self.inner.produce(partition, records));
        Box::pin(async move {
            let answer = call.await;
            if answer.is_ok() {
                sources.iter().for_each(|&(partition, offset)| journal.note(What::Letter { partition, offset }));
            }
            answer
        })
    }

    fn trouble(&self, partition: &TopicPartition) -> Option<BrokerError> {
        self.inner.trouble(partition)
    }
}

/// Where the record of a dead letter came from.
fn source(letter: &ProducerRecord) -> (i32, i64) {
    let number = |name: &str| {
        let header = letter.headers.iter().rfind(|header| header.name == name.as_bytes()).expect("it says where from");
        std::str::from_utf8(header.value.as_ref().unwrap()).unwrap().parse::<i64>().unwrap()
    };
    (number(names::PARTITION) as i32, number(names::OFFSET))
}
