use std::sync::Arc;

use super::evidence::FailureKind;
use crate::handler::Failure;
use crate::policy::Category;
use crate::record::TopicPartition;

/// A failure as the user's classifier sees it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct FailureInfo<'a> {
    /// The failure itself, with its chain of errors.
    pub failure: &'a Failure,
    /// Whether decoding or handling failed; the other kinds are poison without being asked about.
    pub kind: FailureKind,
    /// Where the record was read from.
    pub partition: &'a TopicPartition,
    /// The record's offset.
    pub offset: i64,
    /// The attempt that failed, 1-based.
    pub attempt: u32,
}

impl<'a> FailureInfo<'a> {
    /// Describes a failure; for tests of classifiers.
    pub fn new(
        failure: &'a Failure,
        kind: FailureKind,
        partition: &'a TopicPartition,
        offset: i64,
        attempt: u32,
    ) -> Self {
        Self { failure, kind, partition, offset, attempt }
    }

    /// The first error of type `E` in the chain, as the built-in rules look through it.
    pub fn find<E: std::error::Error + 'static>(&self) -> Option<&'a E> {
        crate::handler::chain::errors(self.failure.error()).find_map(|error| error.downcast_ref())
    }
}

/// The user's classifier: asked where the handler stated no category; `None` leaves it to the rules. It runs under the
/// guard that handlers run under.
pub type UserClassifier = Arc<dyn Fn(&FailureInfo<'_>) -> Option<Category> + Send + Sync>;
