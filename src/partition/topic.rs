use regex::Regex;

use crate::group::Subscription;

/// Which of the broker's topics one of the consumer's is.
#[derive(Debug, Clone)]
pub(crate) enum TopicName {
    /// The topic of this name.
    Exact(String),
    /// Every topic whose name matches; anchored where the whole name is meant.
    Pattern(Regex),
}

impl TopicName {
    /// Which of several a topic is: the one of its name, else the first pattern that matches it.
    pub(crate) fn find<'a>(names: impl Iterator<Item = &'a Self> + Clone, topic: &str) -> Option<usize> {
        let exact = names.clone().position(|name| matches!(name, Self::Exact(exact) if exact == topic));
        exact.or_else(|| names.clone().position(|name| matches!(name, Self::Pattern(_)) && name.matches(topic)))
    }

    /// Whether a topic is meant.
    pub(crate) fn matches(&self, topic: &str) -> bool {
        match self {
            Self::Exact(name) => name == topic,
            Self::Pattern(pattern) => pattern.is_match(topic),
        }
    }
}

/// The topics that a consumer reads.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) names: Vec<TopicName>,
    /// What of the topics that patterns match is left out; `None` where there are no patterns.
    pub(crate) subscription: Option<Subscription>,
}

impl Sources {
    /// Whether a topic is one of them.
    pub(crate) fn contain(&self, topic: &str) -> bool {
        let by_name = self.names.iter().any(|name| matches!(name, TopicName::Exact(_)) && name.matches(topic));
        by_name || self.subscription.as_ref().is_some_and(|subscription| subscription.matches(topic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_name_comes_first_then_the_first_pattern_that_matches() {
        let pattern = |pattern| TopicName::Pattern(Regex::new(pattern).unwrap());
        let names =
            [pattern("^orders$"), pattern("^orders"), pattern("-eu$"), TopicName::Exact("orders-eu".to_owned())];
        let find = |topic| TopicName::find(names.iter(), topic);
        assert_eq!(find("orders-eu"), Some(3));
        assert_eq!(find("orders"), Some(0));
        assert_eq!(find("orders-us"), Some(1));
        assert_eq!(find("refunds-eu"), Some(2));
        assert_eq!(find("old-orders"), None);
    }

    #[test]
    fn topics_that_a_pattern_leaves_out_are_not_read() {
        let pattern = Regex::new("^orders").unwrap();
        let excluded = std::sync::Arc::new(|topic: &str| topic == "orders-graveyard");
        let sources = Sources {
            names: vec![TopicName::Exact("refunds".to_owned()), TopicName::Pattern(pattern.clone())],
            subscription: Some(Subscription::new(vec!["refunds".to_owned()], vec![pattern], excluded)),
        };
        let read =
            ["refunds", "orders-eu", "orders-graveyard", "orders.dlq", "bills"].map(|topic| sources.contain(topic));
        assert_eq!(read, [true, true, false, false, false]);
    }
}
