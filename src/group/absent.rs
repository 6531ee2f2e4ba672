use super::machine::Topics;
use super::topics::Subscription;

/// What is subscribed to and not there, as it was said last: it is said again only when it changes.
#[derive(Debug, Default)]
pub(super) struct Absent {
    missing: Vec<String>,
    unmatched: Vec<String>,
}

impl Absent {
    /// Takes a reading of the topics; returns the missing ones where that is news. Patterns without a topic are logged.
    pub(super) fn update(&mut self, group: &str, subscription: &Subscription, topics: &Topics) -> Option<Vec<String>> {
        let unmatched = subscription.unmatched(topics);
        if unmatched != self.unmatched {
            if !unmatched.is_empty() {
                tracing::warn!(
                    group,
                    ?unmatched,
                    "no topic that exists and may be seen matches these patterns, waiting for one"
                );
            }
            self.unmatched = unmatched;
        }
        let missing = subscription.missing(topics);
        if missing == self.missing {
            return None;
        }
        self.missing.clone_from(&missing);
        Some(missing).filter(|missing| !missing.is_empty())
    }
}
