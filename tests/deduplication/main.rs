//! The recipe of `docs/deduplication.md`, as `examples/deduplication` has it: a side effect is made once, whatever is delivered
//! twice. Each test runs on a ledger in memory, and on PostgreSQL where `DATABASE_URL` names a server; those that are about the
//! database only are skipped without one. On the embedded broker, or on a real one where `KAFKA_BOOTSTRAP` names it.

#[path = "../../examples/deduplication/database.rs"]
mod database;
#[path = "../../examples/deduplication/error.rs"]
mod error;
#[path = "../../examples/deduplication/key.rs"]
mod key;
#[path = "../../examples/deduplication/payments.rs"]
mod payments;

mod connections;
mod example;
mod keys;
mod kills;
mod ledgers;
mod proxy;
mod recipe;
mod redeliveries;
mod replays;
mod shop;
mod transactions;
