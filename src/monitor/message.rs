use std::fmt;

use ractor::RpcReplyPort;

use super::survey::{Look, Survey};
use crate::broker::BrokerError;

/// What the monitor's actor is told.
#[derive(Debug)]
pub(crate) enum MonitorMessage {
    /// Time to look at the broker.
    Tick,
    /// Something was given up.
    Tapped,
    /// Something may be due.
    Due,
    /// A look at the broker ended; without its surveyor, where that panicked.
    Looked(Option<Surveyor>, Result<Seen, BrokerError>),
    /// Tell what waits for its time, and close the sinks. Answered when they have taken it, or have had their time.
    Flush(RpcReplyPort<()>),
}

/// What a look brought.
#[derive(Debug)]
pub(crate) struct Seen(pub(super) Look);

/// Who looks, with all that is remembered.
pub(crate) struct Surveyor(pub(super) Box<Survey>);

impl fmt::Debug for Surveyor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Surveyor")
    }
}
