use serde::Deserialize;

use super::category::Category;
use super::error::ConfigError;
use super::topics::{DeadLetterTopics, valid_topic_name};

/// [`DeadLetterTopics`] as a configuration file writes them.
///
/// ```toml
/// preset = "single"
/// poison = ".dlq.poison"
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TopicSettings {
    /// What the suffixes are changes to; default: a topic per category.
    pub preset: Option<TopicPreset>,
    /// The suffix for validation failures.
    pub validation: Option<String>,
    /// The suffix for transient failures.
    pub transient: Option<String>,
    /// The suffix for dependency failures.
    pub dependency: Option<String>,
    /// The suffix for poison.
    pub poison: Option<String>,
    /// The suffix for unclassified failures.
    pub unknown: Option<String>,
}

/// A preset of [`DeadLetterTopics`] in a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicPreset {
    /// [`DeadLetterTopics::per_category`].
    #[default]
    PerCategory,
    /// [`DeadLetterTopics::single`].
    Single,
    /// [`DeadLetterTopics::three`].
    Three,
}

impl TopicSettings {
    /// The topics so described. Errors name settings as `dead_letter_topics.<category>`.
    pub fn build(&self) -> Result<DeadLetterTopics, ConfigError> {
        let mut topics = match self.preset.unwrap_or_default() {
            TopicPreset::PerCategory => DeadLetterTopics::per_category(),
            TopicPreset::Single => DeadLetterTopics::single(),
            TopicPreset::Three => DeadLetterTopics::three(),
        };
        let changes = [
            (Category::Validation, &self.validation),
            (Category::Transient, &self.transient),
            (Category::Dependency, &self.dependency),
            (Category::Poison, &self.poison),
            (Category::Unknown, &self.unknown),
        ];
        for (category, suffix) in changes {
            let Some(suffix) = suffix else { continue };
            // The source's name is not known yet; a suffix is wrong here if it is wrong behind any name.
            let problem = match valid_topic_name(&format!("x{suffix}")) {
                Ok(()) if suffix.is_empty() => "the dead-letter topic would be the source itself".into(),
                Ok(()) => {
                    topics = topics.suffix(category, suffix.clone());
                    continue;
                }
                Err(problem) => problem,
            };
            return Err(ConfigError::new(
                format!("dead_letter_topics.{category}"),
                suffix,
                format!("cannot be a suffix, since {problem}"),
                "set it to something like \".dlq\"",
            ));
        }
        Ok(topics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_a_preset_with_changes() {
        let topics = |text| toml::from_str::<TopicSettings>(text).unwrap().build();
        assert_eq!(topics(""), Ok(DeadLetterTopics::per_category()));
        assert_eq!(
            topics("preset = \"single\"\npoison = \".poison\""),
            Ok(DeadLetterTopics::single().suffix(Category::Poison, ".poison"))
        );
        let error = topics("unknown = \"\"").unwrap_err().to_string();
        assert!(error.starts_with("dead_letter_topics.unknown = \"\" cannot be a suffix"), "{error}");
        assert!(topics("poison = \" dlq\"").is_err());
    }
}
