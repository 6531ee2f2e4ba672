//! What became of dead letters, as their replays topic says.

use super::entry::State;
use super::error::ReplayError;
use crate::broker::Ports;

/// The marks of one dead-letter topic.
#[derive(Debug, Default)]
pub(crate) struct Marks;

impl Marks {
    pub(crate) async fn read(_ports: &Ports, _dlq: &str) -> Result<Self, ReplayError> {
        Ok(Self)
    }

    pub(crate) fn state(&self, _partition: i32, _offset: i64) -> State {
        State::Unresolved
    }
}
