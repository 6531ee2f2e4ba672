use std::fmt;
use std::str::FromStr;

/// A convention for dead letters. Where a record has headers of several, that of its latest hop counts: hops append their
/// headers, so it is the one whose headers stand last. Headers of the others stay where they are: they came with the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Convention {
    /// Bezoar's headers, with or without further profiles.
    Bezoar,
    /// Bezoar's JSON envelope, or another's with the same fields.
    Envelope,
    /// The JSON envelope of simple consumers: `original_message`, `error_type` and so on, or `error` as `Type: text`.
    SimpleEnvelope,
    /// Apache Kafka's share groups (KIP-1191).
    Kip1191,
    /// Spring Kafka's dead-letter publishing.
    Spring,
    /// Spring Kafka's retry topics.
    SpringRetry,
    /// Kafka Connect.
    Connect,
    /// Kafka Streams.
    Streams,
    /// SmallRye Reactive Messaging (Quarkus), dead-letter queue or delayed retry topic.
    SmallRye,
    /// Karafka.
    Karafka,
    /// beavers.
    Beavers,
    /// krafka.
    Krafka,
    /// autumn.
    Autumn,
    /// Sentry's arroyo.
    Arroyo,
    /// Watermill.
    Watermill,
    /// Trendyol's kafka-konsumer and kin, and others with `x-original-topic`.
    Trendyol,
    /// The headers `error` and `source` (`topic/partition/offset`) alone.
    Plain,
    /// None that is known: the record itself.
    Unrecognized,
}

impl Convention {
    /// All conventions.
    pub const ALL: [Convention; 18] = [
        Convention::Bezoar,
        Convention::Envelope,
        Convention::SimpleEnvelope,
        Convention::Kip1191,
        Convention::Spring,
        Convention::SpringRetry,
        Convention::Connect,
        Convention::Streams,
        Convention::SmallRye,
        Convention::Karafka,
        Convention::Beavers,
        Convention::Krafka,
        Convention::Autumn,
        Convention::Arroyo,
        Convention::Watermill,
        Convention::Trendyol,
        Convention::Plain,
        Convention::Unrecognized,
    ];

    /// The name in lower case, as commands show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Convention::Bezoar => "bezoar",
            Convention::Envelope => "envelope",
            Convention::SimpleEnvelope => "simple-envelope",
            Convention::Kip1191 => "kip1191",
            Convention::Spring => "spring",
            Convention::SpringRetry => "spring-retry",
            Convention::Connect => "connect",
            Convention::Streams => "streams",
            Convention::SmallRye => "smallrye",
            Convention::Karafka => "karafka",
            Convention::Beavers => "beavers",
            Convention::Krafka => "krafka",
            Convention::Autumn => "autumn",
            Convention::Arroyo => "arroyo",
            Convention::Watermill => "watermill",
            Convention::Trendyol => "trendyol",
            Convention::Plain => "plain",
            Convention::Unrecognized => "unrecognized",
        }
    }
}

impl fmt::Display for Convention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no [`Convention`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a convention for dead letters: use one of {names}", names = Convention::ALL.map(Convention::as_str).join(", "))]
pub struct UnknownConvention(String);

impl FromStr for Convention {
    type Err = UnknownConvention;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Convention::ALL.into_iter().find(|convention| convention.as_str() == text);
        named.ok_or_else(|| UnknownConvention(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for convention in Convention::ALL {
            assert_eq!(convention.to_string().parse(), Ok(convention));
        }
        let error = "spring-boot".parse::<Convention>().unwrap_err().to_string();
        assert!(error.starts_with("\"spring-boot\" is not a convention") && error.contains("spring-retry"), "{error}");
    }
}
