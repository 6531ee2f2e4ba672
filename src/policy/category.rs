use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What kind of failure it was; decides which [`Policy`](super::Policy) applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// The record is wrong; trying again cannot help.
    Validation,
    /// Something passing: trying again soon may help.
    Transient,
    /// A service that the handler depends on is unavailable or overloaded.
    Dependency,
    /// The record endangers the process: a panic, a hang, a stack overflow, memory running out.
    Poison,
    /// None of the rules knew it.
    Unknown,
}

impl Category {
    /// All categories, in the order of the policy table.
    pub const ALL: [Category; 5] =
        [Category::Validation, Category::Transient, Category::Dependency, Category::Poison, Category::Unknown];

    /// The name in lower case, as it stands in topic names, headers and settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Category::Validation => "validation",
            Category::Transient => "transient",
            Category::Dependency => "dependency",
            Category::Poison => "poison",
            Category::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no [`Category`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a category: use one of validation, transient, dependency, poison, unknown")]
pub struct UnknownCategory(String);

impl FromStr for Category {
    type Err = UnknownCategory;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Category::ALL.into_iter().find(|category| category.as_str() == text).ok_or_else(|| UnknownCategory(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_as_text_and_through_serde() {
        for category in Category::ALL {
            assert_eq!(category.to_string().parse(), Ok(category));
            assert_eq!(serde_json::to_string(&category).unwrap(), format!("\"{category}\""));
            assert_eq!(serde_json::from_str::<Category>(&format!("\"{category}\"")).unwrap(), category);
        }
        assert!("Poison".parse::<Category>().unwrap_err().to_string().contains("\"Poison\" is not a category"));
    }
}
