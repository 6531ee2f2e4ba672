//! The embedded broker seen through the wire protocol, request by request.

mod admin;
mod client;
mod compaction;
mod epochs;
mod faults;
mod fetch;
mod groups;
mod malformed;
mod paused;
mod produce;
mod sessions;
mod spoiled;
mod topics;
mod transactions;
