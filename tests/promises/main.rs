//! What the product promises, one file per promise, held against the embedded broker; those tests that inject no faults
//! run on a real one as well, where `KAFKA_BOOTSTRAP` names it.

mod crash;
mod going_on;
mod held;
mod memory;
mod never_stuck;
mod no_c;
mod no_surprise;
mod nobody_dragged_down;
mod nothing_changed;
mod nothing_lost;
mod order;
mod paused_time;
mod rights;
mod support;
mod tools;
