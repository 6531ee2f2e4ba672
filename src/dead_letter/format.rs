use serde::Deserialize;

use crate::policy::ConfigError;

/// How dead letters are written. The headers of the [module's documentation](super) are always written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeadLetterFormat {
    /// Conventions written beside KIP-1191's; default none.
    pub profiles: Vec<Profile>,
    /// Whether the dead letter's timestamp is the original record's instead of the time of publishing. Default no: a
    /// backlog's old timestamps would put dead letters past retention at once. The original one is a header either way.
    pub keep_timestamp: bool,
    /// The most characters of the error's message; 1 to 100,000, default 1,000.
    pub message_limit: usize,
    /// The most characters of the backtrace; 0 to 100,000 (0: none is written), default 5,000.
    pub backtrace_limit: usize,
}

/// A convention for dead letters. Each adds to the others; in a dead letter, the names of those that are written are replaced
/// where a record comes with them, and all other headers are kept as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Profile {
    /// The headers of the [module's documentation](super), KIP-1191's among them. They are written in any case.
    Kip1191,
    /// The headers of Spring Kafka's dead-letter publishing: numbers big-endian, the timestamp's type `CreateTime`, the error's
    /// type, message and backtrace as those of the exception.
    Spring,
    /// The headers of Kafka Connect's sinks: the connector is the consumer group, the task the source partition, the stage
    /// `TASK_PUT` and the class `bezoar::Consumer`.
    Connect,
    /// The headers `error` (the error's type) and `source` (`topic/partition/offset`).
    Plain,
    /// The value is a JSON envelope with the readable record, the context and the exact bytes.
    Envelope,
}

/// Headers count towards the size that a broker accepts, so text in them is bounded.
const LIMIT: usize = 100_000;

impl Default for DeadLetterFormat {
    fn default() -> Self {
        Self { profiles: Vec::new(), keep_timestamp: false, message_limit: 1_000, backtrace_limit: 5_000 }
    }
}

impl DeadLetterFormat {
    /// Adds a profile.
    pub fn profile(mut self, profile: Profile) -> Self {
        if !self.has(profile) {
            self.profiles.push(profile);
        }
        self
    }

    /// Whether `profile` is written.
    pub fn has(&self, profile: Profile) -> bool {
        profile == Profile::Kip1191 || self.profiles.contains(&profile)
    }

    /// Checks the limits; errors name `dead_letters.message_limit` and `dead_letters.backtrace_limit`.
    pub fn check(&self) -> Result<(), ConfigError> {
        let limits = [
            ("dead_letters.message_limit", self.message_limit, 1, "1000"),
            ("dead_letters.backtrace_limit", self.backtrace_limit, 0, "5000"),
        ];
        for (setting, value, least, usual) in limits {
            if !(least..=LIMIT).contains(&value) {
                let remedy = format!("set it to {least} to {LIMIT} characters, such as {usual}");
                return Err(ConfigError::new(setting, value, "is out of range", remedy));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked() {
        let format: DeadLetterFormat = toml::from_str("profiles = [\"plain\"]\nmessage_limit = 0").unwrap();
        assert!(format.has(Profile::Plain) && !format.has(Profile::Envelope));
        assert_eq!(
            format.check().unwrap_err().to_string(),
            "dead_letters.message_limit = 0 is out of range: set it to 1 to 100000 characters, such as 1000"
        );
        assert_eq!(DeadLetterFormat::default().check(), Ok(()));
        assert!(toml::from_str::<DeadLetterFormat>("profile = \"plain\"").is_err());
    }

    #[test]
    fn profiles_are_named_in_settings() {
        let of = |profile| toml::from_str::<DeadLetterFormat>(&format!("profiles = [\"{profile}\"]"));
        for (name, profile) in [
            ("kip1191", Profile::Kip1191),
            ("spring", Profile::Spring),
            ("connect", Profile::Connect),
            ("plain", Profile::Plain),
            ("envelope", Profile::Envelope),
        ] {
            assert_eq!(of(name).unwrap().profiles, [profile]);
            assert!(of(name).unwrap().has(Profile::Kip1191));
        }
        let error = of("sping").unwrap_err().to_string();
        assert!(error.contains("unknown variant `sping`, expected one of `kip1191`, `spring`"), "{error}");
    }
}
