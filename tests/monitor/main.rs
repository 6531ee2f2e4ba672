//! The monitor of dead letters: what it tells, whom, and that it disturbs nobody. On the embedded broker; those tests that inject
//! no faults run on a real one as well, where `KAFKA_BOOTSTRAP` names it.

mod alone;
mod consumer;
mod http;
mod instances;
mod marks;
mod retention;
mod sinks;
mod support;
mod webhooks;
