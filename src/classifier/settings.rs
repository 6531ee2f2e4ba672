use serde::Deserialize;

use super::rules::Rules;
use crate::policy::{Category, ConfigError};

/// [`Rules`] as a configuration file writes them.
///
/// ```toml
/// unavailable = "transient"
/// [[rules]]
/// text = "deadlock detected"
/// category = "transient"
/// [[rules]]
/// type = "orders::OutOfStock"
/// category = "validation"
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleSettings {
    /// What 503, 429, "rate limit" and "service unavailable" are; default `dependency`.
    pub unavailable: Option<Category>,
    /// Own rules, asked in their order before the built-in ones.
    pub rules: Vec<RuleSetting>,
}

/// One own rule in a configuration file: by text or by type.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSetting {
    /// What to look for in the message.
    pub text: Option<String>,
    /// The name of an error's type.
    pub r#type: Option<String>,
    /// The category of failures that the rule fits.
    pub category: Category,
}

impl RuleSettings {
    /// The rules so described, checked. Errors name settings as `classifier.rules[<index>].…`.
    pub fn build(&self) -> Result<Rules, ConfigError> {
        let mut rules = Rules::default();
        if let Some(category) = self.unavailable {
            rules = rules.unavailable_as(category);
        }
        for (index, rule) in self.rules.iter().enumerate() {
            rules = match (&rule.text, &rule.r#type) {
                (Some(text), None) => rules.rule(text, rule.category),
                (None, Some(name)) => rules.type_rule(name, rule.category),
                (text, name) => {
                    let (found, problem) = match (text, name) {
                        (Some(text), Some(name)) => (format!("{text} and {name}"), "has both a text and a type"),
                        _ => (String::new(), "has neither a text nor a type"),
                    };
                    let remedy = "give each rule either text or type";
                    return Err(ConfigError::new(format!("classifier.rules[{index}]"), found, problem, remedy));
                }
            };
        }
        rules.check()?;
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(text: &str) -> Result<Rules, ConfigError> {
        toml::from_str::<RuleSettings>(text).unwrap().build()
    }

    #[test]
    fn settings_say_what_code_says() {
        assert_eq!(build(""), Ok(Rules::default()));
        assert_eq!(
            build(
                "unavailable = \"transient\"\n[[rules]]\ntext = \"deadlock\"\ncategory = \"transient\"\n\
                 [[rules]]\ntype = \"A\"\ncategory = \"poison\"\n"
            ),
            Ok(Rules::default()
                .unavailable_as(Category::Transient)
                .rule("deadlock", Category::Transient)
                .type_rule("A", Category::Poison))
        );
    }

    #[test]
    fn a_rule_needs_one_thing_to_look_for() {
        let error = |text| build(text).unwrap_err().to_string();
        assert_eq!(
            error("[[rules]]\ntext = \" \"\ncategory = \"poison\""),
            "classifier.rules[0].text = \" \" says nothing to look for: \
             set it to the text that the rule is about, or remove the rule"
        );
        assert!(error("[[rules]]\ncategory = \"poison\"").contains("has neither a text nor a type"));
        assert!(error("[[rules]]\ntext = \"a\"\ntype = \"b\"\ncategory = \"poison\"").contains("has both"));
    }
}
