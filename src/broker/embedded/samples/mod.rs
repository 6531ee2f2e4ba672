//! A broker's state and requests, for tests.

mod requests;

use std::time::Duration;

pub(super) use requests::{CORRELATION, sample, topic};
use requests::{FIRST_PRODUCER, PAYMENTS};
use uuid::Uuid;

use super::core::{Core, Now};
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

/// A core with the topic `orders`, and the topic's id.
pub(super) fn core() -> (Core, Uuid) {
    let settings = Settings {
        host: "localhost".into(),
        port: 9092,
        default_partitions: 1,
        auto_create_topics: false,
        fetch_sessions: 10,
    };
    let mut state = State::new(settings, 1);
    let creation = Creation { name: "orders".into(), partitions: 2, replication: 1, configs: Vec::new() };
    let orders = state.build_topic(creation).unwrap();
    let id = orders.id;
    state.topics.insert(orders);
    (Core::new(state), id)
}
