//! Our own connections, over pipes in memory to brokers that answer by a script, in paused time.

mod finding;
mod metadata;
mod net;
mod peer;
mod reconnecting;
mod versions;
