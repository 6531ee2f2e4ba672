//! Membership in groups: each method is one request to the group's coordinator, over connections on which nothing else
//! waits.

mod classic;
mod modern;

use std::time::Duration;

use bytes::Bytes;

use super::Native;
use super::call::Call;
use super::cluster::Purpose;
use super::coordinator::Once;
use crate::broker::{
    BoxFuture, BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, JoinAnswer, JoinGroup, MemberIdentity,
    Membership, SyncGroup,
};

impl Membership for Native {
    fn offers_consumer_protocol(&self, group: String) -> BoxFuture<Result<bool, BrokerError>> {
        let call = self.call(format!("looking which protocols the coordinator of group {group} speaks"));
        self.run(call, |cluster, call| async move {
            modern::is_offered(&Once { cluster: &cluster, call: &call, group: &group, purpose: Purpose::Group }).await
        })
    }

    fn consumer_heartbeat(
        &self,
        heartbeat: ConsumerHeartbeat,
    ) -> BoxFuture<Result<ConsumerHeartbeatAnswer, BrokerError>> {
        let call = self.heartbeat_call(modern::doing(&heartbeat));
        self.run(call, |cluster, call| async move {
            let group = heartbeat.group.clone();
            let once = Once { cluster: &cluster, call: &call, group: &group, purpose: Purpose::Group };
            modern::heartbeat(&once, heartbeat).await
        })
    }

    fn join(&self, join: JoinGroup) -> BoxFuture<Result<Result<JoinAnswer, String>, BrokerError>> {
        let within = self.cluster.settings.request_timeout.saturating_add(join.rebalance_timeout);
        let call = Call::new(format!("joining group {}", join.group), within);
        self.run(call, |cluster, call| async move {
            let (lane, group) = (cluster.joining.take(), join.group.clone());
            let once = Once { cluster: &cluster, call: &call, group: &group, purpose: Purpose::Join(lane.number()) };
            classic::join(&once, join).await
        })
    }

    fn sync(&self, sync: SyncGroup) -> BoxFuture<Result<Bytes, BrokerError>> {
        let call = self.call(format!("asking for the assignment in group {}", sync.group));
        self.run(call, |cluster, call| async move {
            let (lane, group) = (cluster.joining.take(), sync.group.clone());
            let once = Once { cluster: &cluster, call: &call, group: &group, purpose: Purpose::Join(lane.number()) };
            classic::sync(&once, sync).await
        })
    }

    fn heartbeat(&self, group: String, member: MemberIdentity) -> BoxFuture<Result<(), BrokerError>> {
        let call = self.heartbeat_call(format!("sending a heartbeat for group {group}"));
        self.run(call, |cluster, call| async move {
            let once = Once { cluster: &cluster, call: &call, group: &group, purpose: Purpose::Group };
            classic::heartbeat(&once, member).await
        })
    }

    fn leave(&self, group: String, member: MemberIdentity, reason: String) -> BoxFuture<Result<(), BrokerError>> {
        let call = self.call(format!("leaving group {group}"));
        self.run(call, |cluster, call| async move {
            let once = Once { cluster: &cluster, call: &call, group: &group, purpose: Purpose::Group };
            classic::leave(&once, member, &reason).await
        })
    }
}

impl Native {
    fn heartbeat_call(&self, doing: String) -> Call {
        let settings = &self.cluster.settings;
        Call::new(doing, settings.heartbeat_timeout.min(settings.request_timeout))
    }
}

/// A time in milliseconds, as requests carry it.
fn millis(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}
