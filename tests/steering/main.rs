//! What a consumer can be told and asked while it runs, and what it subscribes to, as a member of its group.

mod offsets;
mod partitions;
mod support;
mod topics;
