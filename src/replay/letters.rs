use std::sync::Arc;

use super::discard::DiscardReport;
use super::error::ReplayError;
use super::filter::Filter;
use super::options::ReplayOptions;
use super::report::{Progress, ReplayReport};
use super::run::Asked;
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
#[allow(clippy::large_enum_variant)] // there is one per command, and it is handed over by reference
pub enum Selection {
    /// These, by their own places; the topic id is not looked at where it is `None`. Resolved ones too.
    These(Vec<RecordId>),
    /// All that the filter fits.
    Matching(Filter),
}

impl DeadLetters {
    /// The dead letters of `topics`, through `ports` of their own: a source reads each partition once at a time, so that two calls
    /// at once over the same ports, a [`follow`](Self::follow) among them, get in each other's way.
    pub fn new(ports: Ports, topics: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        Self { ports, topics: topics.into_iter().map(Into::into).collect() }
    }

    /// Sends dead letters to where they came from, or to another topic: each once, across runs, machines and interruptions.
    /// `progress` is told of each as it is decided.
    ///
    /// Dropping the future stops it at any point, as killing the process does ([`replay_until`](Self::replay_until) stops more
    /// gently): nothing is lost. What was under way then, at most
    /// [`in_flight`](ReplayOptions::in_flight) letters, stays claimed until its lease is over; the next run sends it, and tells
    /// that it may be there twice ([`maybe_doubled`](ReplayReport::maybe_doubled)). Several runs may go on side by side.
    ///
    /// # Errors
    /// A topic that does not exist, may not be read or is no dead-letter topic; a topic for replay marks that is unfit for them;
    /// a broker that does not answer. Letters that cannot be sent are no error: they count as failed.
    pub async fn replay(
        &self,
        selection: &Selection,
        options: &ReplayOptions,
        progress: impl FnMut(&Progress) + Send,
    ) -> Result<ReplayReport, ReplayError> {
        self.replay_until(selection, options, progress, std::future::pending::<()>()).await
    }

    /// As [`replay`](Self::replay), and stops cleanly when `signal` is ready ([`shutdown_signal`](crate::shutdown_signal), say):
    /// no letter is claimed or sent any more, what was sent is waited for and marked, and what was claimed and not sent is as it
    /// was before, so that the next run has nothing to wait for and nothing that may be there twice. The report says that it was
    /// [`stopped`](ReplayReport::stopped). Where brokers answer that takes moments; dropping the future ends it at once.
    ///
    /// ```no_run
    /// # async fn replay(letters: bezoar::replay::DeadLetters) -> Result<(), bezoar::replay::ReplayError> {
    /// use bezoar::replay::{Filter, ReplayOptions, Selection};
    ///
    /// let (all, options) = (Selection::Matching(Filter::new()), ReplayOptions::new().rate(50));
    /// let report = letters.replay_until(&all, &options, |_| {}, bezoar::shutdown_signal()).await?;
    /// if report.stopped {
    ///     println!("{} sent before it was stopped", report.success);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`replay`](Self::replay).
    pub async fn replay_until(
        &self,
        selection: &Selection,
        options: &ReplayOptions,
        progress: impl FnMut(&Progress) + Send,
        signal: impl Future + Send,
    ) -> Result<ReplayReport, ReplayError> {
        self.replay_telling(selection, options, progress, (signal, |_| {})).await
    }

    /// As [`replay_until`](Self::replay_until); once the signal is ready, `heard` is told how many records are on their way.
    pub(crate) async fn replay_telling(
        &self,
        selection: &Selection,
        options: &ReplayOptions,
        progress: impl FnMut(&Progress) + Send,
        (signal, heard): (impl Future + Send, impl FnOnce(u64) + Send),
    ) -> Result<ReplayReport, ReplayError> {
        super::run::replay(self, selection, options, progress, Asked::new(signal, heard)).await
    }

    /// Marks dead letters as resolved without sending them, and notes the reason.
    ///
    /// # Errors
    /// As for [`replay`](Self::replay).
    pub async fn discard(&self, selection: &Selection, reason: &str) -> Result<DiscardReport, ReplayError> {
        super::run::discard(self, selection, reason).await
    }
}
