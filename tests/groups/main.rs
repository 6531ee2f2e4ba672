//! Consumer groups as their users have them: several instances, other clients among the members, Kafka's own tools beside
//! them. On the embedded broker; on a real one, where `KAFKA_BOOTSTRAP` names it (with `KAFKA_LIBS` for Kafka's tools); on one that
//! is killed and started again, where `KAFKA_DISRUPT_PORT` names a port for it.

mod chaos;
mod foreign;
mod instance;
mod journal;
mod kafka_tools;
mod membership;
mod mixed;
mod patience;
mod place;
mod support;
mod tools;
mod upgrade;
