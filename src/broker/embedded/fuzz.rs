use std::time::Duration;

use bytes::Bytes;

use super::core::{ConnectionId, Core, Input, Now};
use super::groups::GroupSettings;
use super::request::Request;
use super::state::{Creation, Settings, State};

/// Feeds arbitrary bytes to a broker core with one topic (`orders`, one partition) as one request without its
/// length; for fuzzing. Returns whether they are a request.
#[doc(hidden)]
pub fn fuzz_frame(frame: &[u8]) -> bool {
    let Ok(request) = Request::decode(Bytes::copy_from_slice(frame)) else { return false };
    let settings = Settings {
        host: "localhost".to_owned(),
        port: 9092,
        default_partitions: 1,
        auto_create_topics: true,
        fetch_sessions: 10,
        groups: GroupSettings::default(),
        absent: Vec::new(),
    };
    let mut state = State::new(settings, 0);
    let creation = Creation { name: "orders".to_owned(), partitions: 1, replication: 1, configs: Vec::new() };
    if let Ok(topic) = state.build_topic(creation) {
        state.topics.insert(topic);
    }
    let mut core = Core::new(state);
    core.step(Now { elapsed: Duration::ZERO, wall_millis: 0 }, Input::Request(ConnectionId(0), Box::new(request)));
    // What waits for data is answered once its time is over.
    core.step(Now { elapsed: Duration::MAX, wall_millis: 0 }, Input::Tick);
    true
}
