use std::fmt;

use super::category::Category;
use super::error::ConfigError;

/// Names the dead-letter topic of a record: its own topic's name and a suffix per category.
///
/// ```
/// use bezoar::policy::{Category, DeadLetterTopics};
///
/// let topics = DeadLetterTopics::per_category();
/// assert_eq!(topics.topic_for("orders", Category::Poison), "orders.dlq.poison");
/// let topics = DeadLetterTopics::single().suffix(Category::Poison, ".dlq.poison");
/// assert_eq!(topics.all_for("orders"), ["orders.dlq", "orders.dlq.poison"]);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct DeadLetterTopics {
    suffixes: [String; Category::ALL.len()],
}

impl Default for DeadLetterTopics {
    fn default() -> Self {
        Self::per_category()
    }
}

impl DeadLetterTopics {
    /// A topic per category, `<topic>.dlq.<category>`; the default.
    pub fn per_category() -> Self {
        Self { suffixes: Category::ALL.map(|category| format!(".dlq.{category}")) }
    }

    /// One topic for all, `<topic>.dlq`.
    pub fn single() -> Self {
        Self { suffixes: Category::ALL.map(|_| ".dlq".into()) }
    }

    /// Three topics: `<topic>.dlq.validation`, `<topic>.dlq.poison`, and `<topic>.dlq` for records of all other
    /// categories, whose retries were used up.
    pub fn three() -> Self {
        let single = Self::single();
        single.suffix(Category::Validation, ".dlq.validation").suffix(Category::Poison, ".dlq.poison")
    }

    /// Sets the suffix of one category.
    pub fn suffix(mut self, category: Category, suffix: impl Into<String>) -> Self {
        self.suffixes[index(category)] = suffix.into();
        self
    }

    /// The dead-letter topic for records of `source` that failed with `category`.
    pub fn topic_for(&self, source: &str, category: Category) -> String {
        format!("{source}{}", self.suffixes[index(category)])
    }

    /// All dead-letter topics of `source`, each once, in the order of [`Category::ALL`].
    pub fn all_for(&self, source: &str) -> Vec<String> {
        let mut topics = Vec::new();
        for category in Category::ALL {
            let topic = self.topic_for(source, category);
            if !topics.contains(&topic) {
                topics.push(topic);
            }
        }
        topics
    }

    /// The topics whose dead letters would go to `topic`, whether they exist or not.
    pub(crate) fn sources_of<'a>(&'a self, topic: &'a str) -> impl Iterator<Item = &'a str> {
        self.suffixes.iter().filter_map(|suffix| topic.strip_suffix(suffix.as_str()))
    }

    /// Checks that the topics for all `sources` have valid names and that none is itself a source: its dead letters
    /// would be consumed, fail again and go round for ever. Errors name `dead_letter_topics.<category>`.
    pub fn check(&self, sources: &[&str]) -> Result<(), ConfigError> {
        for category in Category::ALL {
            let setting = format!("dead_letter_topics.{category}");
            let suffix = &self.suffixes[index(category)];
            for source in sources {
                let topic = self.topic_for(source, category);
                if sources.contains(&topic.as_str()) {
                    return Err(ConfigError::new(
                        setting,
                        suffix,
                        format!("makes {topic:?}, which this consumer reads, the dead-letter topic of {source:?}"),
                        "choose a suffix that leads to a topic of its own, such as \".dlq\"",
                    ));
                }
                if let Err(problem) = valid_topic_name(&topic) {
                    return Err(ConfigError::new(
                        setting,
                        suffix,
                        format!("makes {topic:?} the dead-letter topic of {source:?}, but {problem}"),
                        "choose a suffix that gives a valid name",
                    ));
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for DeadLetterTopics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(Category::ALL.into_iter().map(|category| (category, self.topic_for("*", category))))
            .finish()
    }
}

fn index(category: Category) -> usize {
    category as usize
}

/// Checks a topic's name by Kafka's rules: 1 to 249 of the characters `A-Z a-z 0-9 . _ -`, and not `.` or `..`. The
/// error says what is wrong, as a clause like "a topic name must not be empty".
pub fn valid_topic_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a topic name must not be empty".into());
    }
    if name == "." || name == ".." {
        return Err("a topic name must not be \".\" or \"..\"".into());
    }
    if let Some(wrong) = name.chars().find(|letter| !(letter.is_ascii_alphanumeric() || "._-".contains(*letter))) {
        return Err(format!("a topic name may hold only ASCII letters, digits, \".\", \"_\" and \"-\", not {wrong:?}"));
    }
    if name.len() > 249 {
        return Err(format!("a topic name must not be longer than 249 characters (this one has {})", name.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_name_five_one_and_three_topics() {
        assert_eq!(
            DeadLetterTopics::default().all_for("orders"),
            [
                "orders.dlq.validation",
                "orders.dlq.transient",
                "orders.dlq.dependency",
                "orders.dlq.poison",
                "orders.dlq.unknown"
            ]
        );
        assert_eq!(DeadLetterTopics::single().all_for("orders"), ["orders.dlq"]);
        let three = DeadLetterTopics::three();
        assert_eq!(three.all_for("orders"), ["orders.dlq.validation", "orders.dlq", "orders.dlq.poison"]);
        assert_eq!(three.topic_for("orders", Category::Dependency), "orders.dlq");
    }

    #[test]
    fn a_dead_letter_topic_that_is_a_source_is_refused() {
        let topics = DeadLetterTopics::single();
        assert_eq!(topics.check(&["orders", "refunds"]), Ok(()));
        let error = topics.check(&["orders", "orders.dlq"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "dead_letter_topics.validation = \".dlq\" makes \"orders.dlq\", which this consumer reads, the dead-letter \
             topic of \"orders\": choose a suffix that leads to a topic of its own, such as \".dlq\""
        );
        assert!(topics.suffix(Category::Poison, "").check(&["orders"]).is_err());
    }

    #[test]
    fn an_invalid_dead_letter_topic_is_refused() {
        let topics = DeadLetterTopics::single().suffix(Category::Unknown, "/dlq");
        let error = topics.check(&["orders"]).unwrap_err().to_string();
        assert!(error.starts_with("dead_letter_topics.unknown = \"/dlq\" makes \"orders/dlq\""), "{error}");
        assert!(DeadLetterTopics::single().check(&["x".repeat(246).as_str()]).is_err());
    }

    #[test]
    fn topic_names_follow_kafkas_rules() {
        let longest = "x".repeat(249);
        for name in ["a", "orders.dlq", "A-1_b", "...", longest.as_str()] {
            assert_eq!(valid_topic_name(name), Ok(()), "{name}");
        }
        let too_long = "x".repeat(250);
        for name in ["", ".", "..", "a b", "ä", "a/b", too_long.as_str()] {
            assert!(valid_topic_name(name).is_err(), "{name}");
        }
    }
}
