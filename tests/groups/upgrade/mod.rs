//! What version 1 writes, this version reads, and the other way round: the bytes in `tests/fixtures/v1` were written by version
//! 1, and stay as they are for good.

mod dead_letters;
mod fixture;
mod offsets;
mod script;
mod subscriptions;
