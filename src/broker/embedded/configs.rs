use std::collections::BTreeMap;

use super::state::Refused;
use kafka_protocol::ResponseError;

/// One entry of a topic's configuration that the broker knows.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) kind: ConfigKind,
}

/// The type of an entry's value.
#[derive(Clone, Copy)]
pub(crate) enum ConfigKind {
    /// Any of these.
    OneOf(&'static [&'static str]),
    /// Comma-separated, each any of these.
    ListOf(&'static [&'static str]),
    /// A 32-bit number from this one on.
    Int(i64),
    /// A 64-bit number from this one on.
    Long(i64),
}

const POLICIES: &[&str] = &["delete", "compact"];
const TIMESTAMPS: &[&str] = &["CreateTime", "LogAppendTime"];
const COMPRESSION: &[&str] = &["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"];

/// The entries that topics have, with Kafka's defaults. What is read here: cleanup.policy (null keys are refused
/// under `compact`), max.message.bytes, message.timestamp.type and min.insync.replicas. The others are kept and
/// described; nothing is deleted, compacted or compressed by the embedded broker.
pub(crate) static KNOWN: &[Known] = &[
    Known { name: "cleanup.policy", default: "delete", kind: ConfigKind::ListOf(POLICIES) },
    Known { name: "compression.type", default: "producer", kind: ConfigKind::OneOf(COMPRESSION) },
    Known { name: "delete.retention.ms", default: "86400000", kind: ConfigKind::Long(0) },
    Known { name: "max.message.bytes", default: "1048588", kind: ConfigKind::Int(0) },
    Known { name: "message.timestamp.type", default: "CreateTime", kind: ConfigKind::OneOf(TIMESTAMPS) },
    Known { name: "min.compaction.lag.ms", default: "0", kind: ConfigKind::Long(0) },
    Known { name: "min.insync.replicas", default: "1", kind: ConfigKind::Int(1) },
    Known { name: "retention.bytes", default: "-1", kind: ConfigKind::Long(i64::MIN) },
    Known { name: "retention.ms", default: "604800000", kind: ConfigKind::Long(-1) },
    Known { name: "segment.bytes", default: "1073741824", kind: ConfigKind::Int(14) },
    Known { name: "segment.ms", default: "604800000", kind: ConfigKind::Long(1) },
];

/// A change of one entry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change<'a> {
    Set(&'a str),
    /// Back to the default.
    Delete,
    /// Adds words to a list.
    Append(&'a str),
    /// Takes words out of a list.
    Subtract(&'a str),
}

/// The configuration of one topic.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configs {
    set: BTreeMap<&'static str, String>,
}

impl Configs {
    /// Checks names and values, as Kafka does when a topic is created.
    pub(crate) fn new(entries: impl IntoIterator<Item = (String, String)>) -> Result<Self, Refused> {
        let mut set = BTreeMap::new();
        for (name, value) in entries {
            let known = KNOWN.iter().find(|known| known.name == name).ok_or_else(|| {
                Refused::new(ResponseError::InvalidConfig, format!("Unknown topic config name: {name}"))
            })?;
            if !known.kind.allows(&value) {
                let message = format!("Invalid value {value} for configuration {name}");
                return Err(Refused::new(ResponseError::InvalidConfig, message));
            }
            set.insert(known.name, value);
        }
        Ok(Self { set })
    }

    /// The configuration with some entries changed.
    pub(crate) fn changed<'a>(
        &self,
        changes: impl IntoIterator<Item = (&'a str, Change<'a>)>,
    ) -> Result<Self, Refused> {
        let mut entries: BTreeMap<String, String> =
            self.set.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        for (name, change) in changes {
            let (words, adds) = match change {
                Change::Set(value) => {
                    entries.insert(name.to_owned(), value.to_owned());
                    continue;
                }
                Change::Delete => {
                    entries.remove(name);
                    continue;
                }
                Change::Append(words) => (words, true),
                Change::Subtract(words) => (words, false),
            };
            let known = KNOWN.iter().find(|known| known.name == name);
            let Some(known) = known.filter(|known| matches!(known.kind, ConfigKind::ListOf(_))) else {
                let message = format!("Can't append to or subtract from {name}: it is no list.");
                return Err(Refused::new(ResponseError::InvalidConfig, message));
            };
            let now = entries.get(name).map_or(known.default, String::as_str);
            let mut list: Vec<&str> = now.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
            for word in words.split(',').map(str::trim) {
                list.retain(|other| *other != word);
                if adds {
                    list.push(word);
                }
            }
            let value = list.join(",");
            entries.insert(name.to_owned(), value);
        }
        Self::new(entries)
    }

    /// The value of an entry as it was set.
    pub(crate) fn set(&self, name: &str) -> Option<&str> {
        self.set.get(name).map(String::as_str)
    }

    /// Whether records are replaced by later ones with the same key.
    pub(crate) fn is_compacted(&self) -> bool {
        self.set("cleanup.policy").is_some_and(|value| value.split(',').any(|policy| policy.trim() == "compact"))
    }

    /// Whether the broker sets the timestamps.
    pub(crate) fn is_append_time(&self) -> bool {
        self.set("message.timestamp.type") == Some("LogAppendTime")
    }

    /// The largest record batch taken, in bytes.
    pub(crate) fn max_message_bytes(&self) -> usize {
        usize::try_from(self.number("max.message.bytes")).unwrap_or(usize::MAX)
    }

    /// How many replicas must have a record before it counts as written.
    pub(crate) fn min_insync_replicas(&self) -> i64 {
        self.number("min.insync.replicas")
    }

    fn number(&self, name: &str) -> i64 {
        let default = KNOWN.iter().find(|known| known.name == name).map_or("", |known| known.default);
        // Both the values that were set and the defaults are known to be numbers.
        self.set(name).unwrap_or(default).parse().unwrap_or_default()
    }
}

impl ConfigKind {
    fn allows(self, value: &str) -> bool {
        match self {
            Self::OneOf(words) => words.contains(&value),
            Self::ListOf(words) => value.split(',').all(|word| words.contains(&word.trim())),
            Self::Int(least) => value.parse().is_ok_and(|number: i32| i64::from(number) >= least),
            Self::Long(least) => value.parse().is_ok_and(|number: i64| number >= least),
        }
    }

    /// The type's number in DescribeConfigs.
    pub(crate) fn code(self) -> i8 {
        match self {
            Self::OneOf(_) => 2,
            Self::ListOf(_) => 7,
            Self::Int(_) => 3,
            Self::Long(_) => 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<Configs, Refused> {
        Configs::new([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn every_default_is_a_value_that_its_entry_allows() {
        for known in KNOWN {
            assert!(known.kind.allows(known.default), "{}", known.name);
        }
        assert_eq!(Configs::default().max_message_bytes(), 1_048_588);
    }

    #[test]
    fn unknown_names_and_wrong_values_are_refused() {
        for (name, value) in [("retention", "1"), ("retention.ms", "a week"), ("cleanup.policy", "delete,burn")] {
            assert_eq!(with(name, value).unwrap_err().error, ResponseError::InvalidConfig, "{name}");
        }
    }

    #[test]
    fn entries_are_set_reset_and_lists_changed() {
        let configs = with("retention.ms", "5").unwrap();
        let configs = configs.changed([("cleanup.policy", Change::Append("compact"))]).unwrap();
        assert_eq!((configs.set("cleanup.policy"), configs.set("retention.ms")), (Some("delete,compact"), Some("5")));
        let changes = [("cleanup.policy", Change::Subtract("delete")), ("retention.ms", Change::Delete)];
        let configs = configs.changed(changes).unwrap();
        assert_eq!((configs.set("cleanup.policy"), configs.set("retention.ms")), (Some("compact"), None));
        for change in
            [("retention.ms", Change::Append("6")), ("retention.ms", Change::Set("x")), ("x", Change::Set("1"))]
        {
            assert_eq!(configs.changed([change]).unwrap_err().error, ResponseError::InvalidConfig, "{change:?}");
        }
    }

    #[test]
    fn a_policy_may_be_a_list() {
        assert!(with("cleanup.policy", "compact,delete").unwrap().is_compacted());
        assert!(!with("cleanup.policy", "delete").unwrap().is_compacted());
    }
}
