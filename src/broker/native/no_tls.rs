//! Stands in for TLS in builds without it, where settings that ask for it are refused.

use std::io;

use super::call::Call;
use super::connector::Stream;
use crate::broker::BrokerError;
use crate::broker::security::Tls;

/// There is none.
pub(super) enum Client {}

impl Client {
    pub(super) fn new(_: &Tls) -> Option<Self> {
        None
    }

    pub(super) async fn secure(&self, _: Box<dyn Stream>, _: &str, _: &Call) -> Result<Box<dyn Stream>, BrokerError> {
        match *self {}
    }

    pub(super) fn explain(&self, _: &io::Error, _: &Call) -> Option<BrokerError> {
        match *self {}
    }
}
