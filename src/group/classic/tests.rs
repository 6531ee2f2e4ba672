mod coordinator;
mod model;
mod scenarios;
mod told;
mod world;

use std::time::Duration;

use super::*;
use crate::group::settings::GroupProtocol;

pub(super) fn settings(instance: &str) -> GroupSettings {
    GroupSettings {
        group: "shop".to_owned(),
        protocol: GroupProtocol::Classic,
        instance_id: Some(instance.to_owned()).filter(|id| !id.is_empty()),
        rack: None,
        assignors: vec![Assignor::Range],
        server_assignor: None,
        session_timeout: Duration::from_secs(10),
        heartbeat_interval: Duration::from_secs(3),
        rebalance_timeout: Duration::from_secs(60),
        refresh: Duration::from_secs(30),
        lease: Duration::from_secs(8),
        classic_only: Vec::new(),
    }
}
