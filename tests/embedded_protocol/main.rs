//! The embedded broker seen through the wire protocol, request by request.

mod client;
mod faults;
mod fetch;
mod groups;
mod malformed;
mod paused;
mod produce;
mod topics;
