//! The embedded broker seen through the wire protocol, request by request.

mod admin;
mod classic;
mod client;
mod compaction;
mod consumer_groups;
mod epochs;
mod faults;
mod fetch;
mod groups;
mod malformed;
mod member;
mod paused;
mod produce;
mod sessions;
mod spoiled;
mod topics;
mod transactions;
