use std::sync::{Arc, Mutex, PoisonError};

use super::feed::{Feed, SourceProblem};

/// The way to a feed, which can be shut.
pub(super) struct Outlet {
    feed: Mutex<Option<Arc<Feed>>>,
}

impl Outlet {
    pub(super) fn new(feed: Arc<Feed>) -> Self {
        Self { feed: Mutex::new(Some(feed)) }
    }

    /// Once this returns, nothing reaches the feed any more.
    pub(super) fn shut(&self) {
        *self.feed.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Lets `act` use the feed, which cannot be shut meanwhile; `None` where it is shut.
    pub(super) fn with_feed<T>(&self, act: impl FnOnce(&Feed) -> T) -> Option<T> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner).as_deref().map(act)
    }

    /// Reports a problem, unless shut.
    pub(super) fn report(&self, problem: SourceProblem) {
        self.with_feed(|feed| feed.report(problem));
    }
}
