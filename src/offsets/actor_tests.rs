use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ractor::rpc::CallResult;
use ractor::{Actor, ActorRef};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::actor::{Committing, Member, OffsetsActor};
use super::message::{Beginning, OffsetsMessage};
use crate::broker::{ErrorCode, MemberIdentity};
use crate::event::Events;
use crate::group::Lease;
use crate::record::TopicPartition;
use crate::testing::memory::Memory;

fn orders() -> TopicPartition {
    TopicPartition::new("orders", 0)
}

fn identity(epoch: i32) -> MemberIdentity {
    MemberIdentity { member_id: "member".to_owned(), epoch, instance_id: None }
}

struct Fixture {
    memory: Memory,
    actor: ActorRef<OffsetsMessage>,
    lease: Arc<Lease>,
    refused: mpsc::UnboundedReceiver<ErrorCode>,
}

impl Fixture {
    async fn new(member: bool, closed: bool, every: Option<u64>) -> Self {
        let memory = Memory::default();
        let lease = Arc::new(Lease::new());
        lease.extend(Instant::now() + Duration::from_secs(60));
        let (told, refused) = mpsc::unbounded_channel();
        let actor = OffsetsActor {
            group: "group".to_owned(),
            store: memory.ports().offsets,
            events: Events::new(),
            commit_interval: Duration::from_secs(3600),
            closed: Arc::new(AtomicBool::new(closed)),
        };
        let committing = Committing {
            member: member.then(|| Member {
                lease: Arc::clone(&lease),
                refused: Box::new(move |code| assert!(told.send(code).is_ok())),
            }),
            every,
            again: Duration::from_secs(24 * 3600),
        };
        let (actor, _join) = Actor::spawn(None, actor, committing).await.unwrap();
        Self { memory, actor, lease, refused }
    }

    fn tell(&self, message: OffsetsMessage) {
        self.actor.cast(message).unwrap();
    }

    fn settle(&self, to: i64) {
        self.tell(OffsetsMessage::Settled { partition: orders(), epoch: 1, from: 0, to });
    }

    fn open(&self, beginning: Beginning) {
        self.tell(OffsetsMessage::Open { partition: orders(), epoch: 1, beginning });
    }

    fn member(&self, epoch: i32) {
        self.tell(OffsetsMessage::Identity(Some(identity(epoch))));
    }

    async fn flush(&self) -> bool {
        let flush = |reply| OffsetsMessage::Flush { ownership: Some((orders(), 1)), reply };
        matches!(self.actor.call(flush, None).await, Ok(CallResult::Success(true)))
    }

    /// What was committed, once all that was asked for before is through: by one thread, and a store that answers at once.
    async fn commits(&self) -> Vec<(Option<i32>, i64)> {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        self.memory
            .take_commits()
            .into_iter()
            .map(|(member, offset)| (member.map(|m| m.epoch), offset.offset))
            .collect()
    }
}

#[tokio::test]
async fn nothing_is_committed_after_the_consumer_was_dropped() {
    for (closed, expected) in [(false, vec![(None, 5)]), (true, vec![])] {
        let fixture = Fixture::new(false, closed, None).await;
        fixture.open(Beginning::committed(0));
        fixture.settle(5);
        fixture.tell(OffsetsMessage::Tick);
        assert_eq!(fixture.commits().await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn offsets_that_do_not_change_are_committed_again_where_partitions_are_assigned_by_hand() {
    for (member, expected) in [(false, vec![(None, 7)]), (true, vec![])] {
        let fixture = Fixture::new(member, false, None).await;
        fixture.lease.extend(Instant::now() + Duration::from_secs(30 * 24 * 3600));
        fixture.member(1);
        fixture.open(Beginning::committed(7));
        tokio::time::sleep(Duration::from_secs(25 * 3600)).await;
        assert_eq!(fixture.commits().await, expected);
    }
}

#[tokio::test]
async fn records_are_committed_by_count_without_waiting_for_the_interval() {
    let fixture = Fixture::new(false, false, Some(10)).await;
    fixture.open(Beginning::committed(0));
    fixture.settle(9);
    assert_eq!(fixture.commits().await, []);
    fixture.tell(OffsetsMessage::Settled { partition: orders(), epoch: 1, from: 9, to: 10 });
    assert_eq!(fixture.commits().await, [(None, 10)]);
}

#[tokio::test]
async fn a_member_commits_under_its_identity_and_not_without_one() {
    let fixture = Fixture::new(true, false, None).await;
    fixture.open(Beginning::committed(0));
    fixture.settle(5);
    assert!(!fixture.flush().await, "nobody waits for what cannot be");
    assert_eq!(fixture.commits().await, []);
    fixture.member(3);
    assert_eq!(fixture.commits().await, [(Some(3), 5)]);
}

#[tokio::test]
async fn a_commit_that_the_group_refuses_is_told_and_not_tried_again_under_the_same_identity() {
    let mut fixture = Fixture::new(true, false, None).await;
    fixture.member(3);
    fixture.open(Beginning::committed(0));
    fixture.memory.refuse_commits(Some(ErrorCode::ILLEGAL_GENERATION));
    fixture.settle(5);
    assert!(!fixture.flush().await);
    assert_eq!(fixture.refused.recv().await, Some(ErrorCode::ILLEGAL_GENERATION));
    fixture.memory.refuse_commits(None);
    fixture.tell(OffsetsMessage::Tick);
    assert!(!fixture.flush().await);
    assert_eq!(fixture.commits().await, []);
    assert!(fixture.refused.try_recv().is_err(), "told once");
    fixture.member(4);
    assert_eq!(fixture.commits().await, [(Some(4), 5)]);
}

#[tokio::test]
async fn a_commit_under_an_old_epoch_is_made_again_under_the_next() {
    for code in [ErrorCode::STALE_MEMBER_EPOCH, ErrorCode::REBALANCE_IN_PROGRESS] {
        let mut fixture = Fixture::new(true, false, None).await;
        fixture.member(3);
        fixture.open(Beginning::committed(0));
        fixture.memory.refuse_commits(Some(code));
        fixture.settle(5);
        let flushed = {
            let actor = fixture.actor.clone();
            tokio::spawn(async move {
                let flush = |reply| OffsetsMessage::Flush { ownership: Some((orders(), 1)), reply };
                actor.call(flush, None).await
            })
        };
        assert_eq!(fixture.refused.recv().await, Some(code));
        fixture.memory.refuse_commits(None);
        assert_eq!(fixture.commits().await, []);
        assert!(!flushed.is_finished(), "it waits for the next identity");
        fixture.member(4);
        assert!(matches!(flushed.await, Ok(Ok(CallResult::Success(true)))));
        assert_eq!(fixture.commits().await, [(Some(4), 5)]);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_committed_while_the_lease_is_over() {
    let fixture = Fixture::new(true, false, None).await;
    fixture.member(3);
    fixture.open(Beginning::committed(0));
    fixture.lease.end();
    fixture.settle(5);
    let flush = async { fixture.flush().await };
    assert!(tokio::time::timeout(Duration::from_secs(5), flush).await.is_err());
    assert_eq!(fixture.commits().await, []);
    fixture.lease.extend(Instant::now() + Duration::from_secs(60));
    assert!(fixture.flush().await);
    assert_eq!(fixture.commits().await, [(Some(3), 5)]);
}

#[tokio::test]
async fn a_start_is_committed_before_it_is_answered() {
    let fixture = Fixture::new(true, false, None).await;
    fixture.open(Beginning::chosen(7));
    let start = {
        let actor = fixture.actor.clone();
        let start = |reply| OffsetsMessage::CommitStart { partition: orders(), epoch: 1, reply };
        tokio::spawn(async move { actor.call(start, None).await })
    };
    assert_eq!(fixture.commits().await, []);
    assert!(!start.is_finished(), "it waits for an identity");
    fixture.member(1);
    assert!(matches!(start.await, Ok(Ok(CallResult::Success(Ok(()))))));
    assert_eq!(fixture.commits().await, [(Some(1), 7)]);
    // One that can never be committed is not waited for.
    fixture.memory.refuse_commits(Some(ErrorCode::GROUP_AUTHORIZATION_FAILED));
    fixture.tell(OffsetsMessage::Open { partition: orders(), epoch: 2, beginning: Beginning::chosen(9) });
    let start = |reply| OffsetsMessage::CommitStart { partition: orders(), epoch: 2, reply };
    assert!(matches!(fixture.actor.call(start, None).await, Ok(CallResult::Success(Err(_)))));
}

#[tokio::test(start_paused = true)]
async fn an_identity_that_was_refused_is_tried_again_at_the_next_interval_or_after_a_while() {
    let cases =
        [(ErrorCode::REBALANCE_IN_PROGRESS, Duration::ZERO), (ErrorCode::UNKNOWN_MEMBER_ID, super::actor::ASK_AGAIN)];
    for (code, after) in cases {
        let mut fixture = Fixture::new(true, false, None).await;
        fixture.member(3);
        fixture.open(Beginning::committed(0));
        fixture.memory.refuse_commits(Some(code));
        fixture.settle(5);
        fixture.tell(OffsetsMessage::Tick);
        assert_eq!(fixture.refused.recv().await, Some(code));
        fixture.memory.refuse_commits(None);
        if !after.is_zero() {
            tokio::time::sleep(after - Duration::from_millis(1)).await;
            fixture.tell(OffsetsMessage::Tick);
            assert_eq!(fixture.commits().await, []);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        fixture.tell(OffsetsMessage::Tick);
        assert_eq!(fixture.commits().await, [(Some(3), 5)]);
    }
}
