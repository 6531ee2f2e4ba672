//! Dead letters as other frameworks write them, byte for byte, and what is read of them.

mod apache;
mod docs;
mod envelopes;
mod garbage;
mod mixed;
mod others;
mod plain;
mod rust;
mod smallrye;
mod spring;
mod support;
