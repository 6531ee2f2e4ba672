//! A small HTTP/1.1 client for webhooks: one POST per connection, with a limit in time, and as much of the answer as tells what is
//! wrong. It follows no redirects and uses no proxies.

mod address;
mod answer;
mod exchange;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod secure;
#[cfg(feature = "tls")]
#[path = "tls.rs"]
mod secure;

pub(crate) use address::Address;
pub(crate) use answer::Advice;
pub(crate) use exchange::{Client, Post};
