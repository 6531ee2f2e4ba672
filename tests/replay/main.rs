//! Dead letters read, understood and replayed: on the embedded broker, or on a real one where `KAFKA_BOOTSTRAP` names it. Tests
//! whose names begin with `embedded_` need what only the embedded broker offers and do nothing on a real one.

mod chains;
mod deputies;
mod discarding;
mod events;
mod fidelity;
#[path = "../conformance/fixture.rs"]
#[allow(dead_code)] // a part of it is used here
mod fixture;
mod following;
mod foreign;
mod gaps;
mod grouping;
mod kill;
mod listing;
mod made;
mod origins;
mod refusals;
mod replaying;
mod runs;
mod showing;
mod sizes;
mod stand;
mod stopping;
mod takeover;
#[path = "../conformance/transactional.rs"]
#[allow(dead_code)] // a part of it is used here
mod transactional;
#[path = "../conformance/wire.rs"]
#[allow(dead_code)] // a part of it is used here
mod wire;
