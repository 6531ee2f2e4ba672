use std::sync::Arc;

use super::discard::DiscardReport;
use super::error::ReplayError;
use super::filter::Filter;
use super::options::ReplayOptions;
use super::report::{Progress, ReplayReport};
use crate::broker::Ports;
use crate::record::RecordId;

/// Dead-letter topics to be read, understood and replayed from: what the command `bezoar dlq` does, as a library. Each call
/// reads the topics up to the ends that they have when it begins.
#[derive(Debug, Clone)]
pub struct DeadLetters {
    pub(super) ports: Ports,
    pub(super) topics: Vec<Arc<str>>,
}

/// Which dead letters a command is for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection {
    /// These, by their own places; the topic id is not looked at where it is `None`. Resolved ones too.
    These(Vec<RecordId>),
    /// All that the filter fits.
    Matching(Filter),
}

impl DeadLetters {
    /// The dead letters of `topics`, through `ports` (of their own: a reader reads each partition once at a time).
    pub fn new(ports: Ports, topics: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        Self { ports, topics: topics.into_iter().map(Into::into).collect() }
    }

    /// Sends dead letters to where they came from, or to another topic. `progress` is told of each as it is decided.
    /// Dropping the future stops sending; what is under way then is told by the next run.
    pub async fn replay(
        &self,
        _selection: &Selection,
        _options: &ReplayOptions,
        _progress: impl FnMut(&Progress) + Send,
    ) -> Result<ReplayReport, ReplayError> {
        todo!()
    }

    /// Marks dead letters as resolved without sending them.
    pub async fn discard(&self, _selection: &Selection, _reason: &str) -> Result<DiscardReport, ReplayError> {
        todo!()
    }
}
