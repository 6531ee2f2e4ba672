use std::future::ready;
use std::time::Duration;

use bezoar::broker::{
    BoxFuture, BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, JoinAnswer, JoinGroup, MemberIdentity,
    Membership, SyncGroup,
};
use bytes::Bytes;
use uuid::Uuid;

/// The id of every topic: only one is read.
pub(super) const TOPIC_ID: Uuid = Uuid::from_u128(1);

/// A group of KIP-848 with one member, which has all partitions.
pub(super) struct Alone {
    pub(super) partitions: i32,
}

impl Membership for Alone {
    fn offers_consumer_protocol(&self, _: String) -> BoxFuture<Result<bool, BrokerError>> {
        Box::pin(ready(Ok(true)))
    }

    fn consumer_heartbeat(
        &self,
        heartbeat: ConsumerHeartbeat,
    ) -> BoxFuture<Result<ConsumerHeartbeatAnswer, BrokerError>> {
        let joins = heartbeat.member.epoch == 0;
        let answer = ConsumerHeartbeatAnswer {
            member_id: heartbeat.member.member_id,
            member_epoch: if joins { 1 } else { heartbeat.member.epoch },
            interval: Duration::from_secs(5),
            assignment: joins.then(|| vec![(TOPIC_ID, (0..self.partitions).collect())]),
        };
        Box::pin(ready(Ok(answer)))
    }

    fn join(&self, _: JoinGroup) -> BoxFuture<Result<Result<JoinAnswer, String>, BrokerError>> {
        classic()
    }

    fn sync(&self, _: SyncGroup) -> BoxFuture<Result<Bytes, BrokerError>> {
        classic()
    }

    fn heartbeat(&self, _: String, _: MemberIdentity) -> BoxFuture<Result<(), BrokerError>> {
        classic()
    }

    fn leave(&self, _: String, _: MemberIdentity, _: String) -> BoxFuture<Result<(), BrokerError>> {
        classic()
    }
}

fn classic<T: Send + 'static>() -> BoxFuture<Result<T, BrokerError>> {
    let doing = "speaking the classic protocol".to_owned();
    let remedy = "use GroupProtocol::Consumer".to_owned();
    Box::pin(ready(Err(BrokerError::Unsupported { doing, remedy })))
}
