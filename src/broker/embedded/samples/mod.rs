//! A broker's state and requests, for tests.

mod members;
mod requests;

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;
pub(super) use requests::{CORRELATION, sample, topic};
use requests::{FIRST_PRODUCER, MEMBER, PAYMENTS};
use uuid::Uuid;

use super::core::{Core, Now};
use super::groups::classic::Join;
use super::groups::consumer::{Beat, Partitions};
use super::groups::{Answer, Client, GroupSettings};
use super::state::{Creation, Settings, State};
use super::transactions::Claim;

pub(super) const NOW: Now = Now { elapsed: Duration::ZERO, wall_millis: 1_790_000_000_000 };

/// Opens the transaction that samples are about.
pub(super) fn begin_transaction(core: &mut Core) {
    let (producer_id, epoch) = core.state.init_transactional(NOW, PAYMENTS, Duration::from_secs(60), None).unwrap();
    assert_eq!((producer_id, epoch), (FIRST_PRODUCER, 0));
    let claim = Claim { transactional_id: PAYMENTS, producer_id, epoch };
    core.state.transactions.add(NOW.elapsed, claim, []).unwrap();
}

/// Lets the member that samples are about join.
pub(super) fn join_group(core: &mut Core) {
    let groups = &mut core.state.groups;
    let join = Join {
        ticket: groups.ticket(),
        version: 0,
        member_id: StrBytes::new(),
        new_member_id: StrBytes::from_static_str(MEMBER),
        instance_id: None,
        client: Client::default(),
        session_timeout: Duration::from_secs(10),
        rebalance_timeout: Duration::from_secs(10),
        protocol_type: StrBytes::from_static_str("consumer"),
        protocols: vec![(StrBytes::from_static_str("range"), Bytes::new())],
    };
    groups.join(NOW.elapsed, "fulfilment", join);
    assert!(matches!(groups.take_answers()[..], [(_, Answer::Join(Ok(_)))]));
}

/// Lets the member that samples are about join by the protocol of KIP-848.
pub(super) fn join_consumer_group(core: &mut Core) {
    let beat = Beat {
        member_id: StrBytes::from_static_str(MEMBER),
        epoch: 0,
        instance_id: None,
        rack: None,
        client: Client::default(),
        rebalance_timeout: Some(Duration::from_secs(10)),
        topics: Some([StrBytes::from_static_str("orders")].into()),
        assignor: None,
        owned: Some(Partitions::new()),
    };
    let State { groups, topics, .. } = &mut core.state;
    assert_eq!(groups.consumer_heartbeat(NOW.elapsed, topics, "fulfilment", beat).unwrap().epoch, 2);
}

/// A core with the topic `orders`, and the topic's id.
pub(super) fn core() -> (Core, Uuid) {
    let settings = Settings {
        host: "localhost".into(),
        port: 9092,
        default_partitions: 1,
        auto_create_topics: false,
        fetch_sessions: 10,
        groups: GroupSettings::default(),
        absent: Vec::new(),
    };
    let mut state = State::new(settings, 1);
    let creation = Creation { name: "orders".into(), partitions: 2, replication: 1, configs: Vec::new() };
    let orders = state.build_topic(creation).unwrap();
    let id = orders.id;
    state.topics.insert(orders);
    (Core::new(state), id)
}
