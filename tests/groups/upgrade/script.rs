//! A classic member that is played by the test, and a look over the shoulder of one that is not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{
    BoxFuture, BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode, JoinAnswer, JoinGroup,
    MemberIdentity, Membership, Ports, SyncGroup,
};
use bytes::Bytes;
use tokio::time::sleep;

/// A member that writes what it is given.
pub(crate) struct Scripted {
    port: Arc<dyn Membership>,
    group: String,
    assignor: &'static str,
    subscription: Bytes,
    member: MemberIdentity,
}

impl Scripted {
    pub(crate) fn new(ports: &Ports, group: &str, assignor: &'static str, subscription: Bytes) -> Self {
        let member = MemberIdentity { member_id: String::new(), epoch: -1, instance_id: None };
        let port = Arc::clone(ports.membership.as_ref().unwrap());
        Self { port, group: group.to_owned(), assignor, subscription, member }
    }

    pub(crate) fn id(&self) -> &str {
        &self.member.member_id
    }

    /// Joins, for the first time or again.
    pub(crate) async fn join(&mut self) -> JoinAnswer {
        loop {
            let join = JoinGroup {
                group: self.group.clone(),
                member: self.member.clone(),
                session_timeout: Duration::from_secs(6),
                rebalance_timeout: Duration::from_secs(25),
                protocols: vec![(self.assignor.to_owned(), self.subscription.clone())],
                reason: None,
            };
            match self.port.join(join).await.unwrap() {
                Ok(answer) => {
                    self.member.member_id.clone_from(&answer.member_id);
                    self.member.epoch = answer.generation;
                    return answer;
                }
                Err(id) => self.member.member_id = id,
            }
        }
    }

    /// Its assignment; `None` where the group goes through another round already.
    pub(crate) async fn sync(&self, assignments: Vec<(String, Bytes)>) -> Option<Bytes> {
        let (group, member) = (self.group.clone(), self.member.clone());
        let sync = SyncGroup { group, member, protocol: self.assignor.to_owned(), assignments };
        match self.port.sync(sync).await {
            Ok(assignment) => Some(assignment),
            Err(error) => {
                assert_eq!(error.code(), Some(ErrorCode::REBALANCE_IN_PROGRESS), "{error}");
                None
            }
        }
    }

    /// Stays a member until the group goes through another round.
    pub(crate) async fn until_called(&self) {
        loop {
            match self.port.heartbeat(self.group.clone(), self.member.clone()).await {
                Ok(()) => sleep(Duration::from_millis(50)).await,
                Err(error) => {
                    assert_eq!(error.code(), Some(ErrorCode::REBALANCE_IN_PROGRESS), "{error}");
                    return;
                }
            }
        }
    }
}

/// What a member has written: subscriptions, and assignments where it led.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written(Arc<Mutex<(Vec<Bytes>, Vec<Bytes>)>>);

impl Written {
    pub(crate) fn subscriptions(&self) -> Vec<Bytes> {
        self.0.lock().unwrap().0.clone()
    }

    pub(crate) fn assignments(&self) -> Vec<Bytes> {
        self.0.lock().unwrap().1.clone()
    }

    /// The same ports, looked at.
    pub(crate) fn over(&self, ports: Ports) -> Ports {
        let inner = ports.membership.clone().unwrap();
        Ports { membership: Some(Arc::new(Watched { inner, written: self.clone() })), ..ports }
    }
}

struct Watched {
    inner: Arc<dyn Membership>,
    written: Written,
}

impl Membership for Watched {
    fn offers_consumer_protocol(&self, group: String) -> BoxFuture<Result<bool, BrokerError>> {
        self.inner.offers_consumer_protocol(group)
    }

    fn consumer_heartbeat(
        &self,
        heartbeat: ConsumerHeartbeat,
    ) -> BoxFuture<Result<ConsumerHeartbeatAnswer, BrokerError>> {
        self.inner.consumer_heartbeat(heartbeat)
    }

    fn join(&self, join: JoinGroup) -> BoxFuture<Result<Result<JoinAnswer, String>, BrokerError>> {
        self.written.0.lock().unwrap().0.extend(join.protocols.iter().map(|(_, bytes)| bytes.clone()));
        self.inner.join(join)
    }

    fn sync(&self, sync: SyncGroup) -> BoxFuture<Result<Bytes, BrokerError>> {
        self.written.0.lock().unwrap().1.extend(sync.assignments.iter().map(|(_, bytes)| bytes.clone()));
        self.inner.sync(sync)
    }

    fn heartbeat(&self, group: String, member: MemberIdentity) -> BoxFuture<Result<(), BrokerError>> {
        self.inner.heartbeat(group, member)
    }

    fn leave(&self, group: String, member: MemberIdentity, reason: String) -> BoxFuture<Result<(), BrokerError>> {
        self.inner.leave(group, member, reason)
    }
}
