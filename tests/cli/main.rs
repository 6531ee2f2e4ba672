//! The command `bezoar`, run as people and programs run it. On the embedded broker, or on a real one where `KAFKA_BOOTSTRAP` names
//! it.

mod connection;
mod hostile;
mod listing;
mod local;
mod others;
mod stage;
mod tail;
