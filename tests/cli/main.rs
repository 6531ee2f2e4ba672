//! The command `bezoar`, run as people and programs run it. On the embedded broker, or on a real one where `KAFKA_BOOTSTRAP` names
//! it.

mod connection;
mod documented;
mod fixing;
mod hostile;
mod interrupting;
mod listing;
mod local;
mod others;
mod replaying;
mod stage;
mod tail;
mod watching;
