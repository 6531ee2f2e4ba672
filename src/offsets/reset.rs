use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::message::Beginning;
use crate::broker::{BrokerError, CommittedOffset, OffsetSpec, Ports};
use crate::policy::ConfigError;
use crate::record::TopicPartition;

/// Where a partition starts when its group has no committed offset, or the offset is no longer (or not yet) in the log.
///
/// In a file: `"earliest"`, `"latest"`, `"none"`, `{ timestamp = "2026-01-01T00:00:00Z" }` or `{ ago = "7d" }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OffsetReset {
    /// At the first record in the log.
    #[default]
    Earliest,
    /// After the last record in the log: only what comes later is processed.
    Latest,
    /// Nowhere: an error that names the partition, the log's range, and the committed offset where there is one.
    None,
    /// At the first record with this timestamp or a later one, in milliseconds since the Unix epoch; after the last record
    /// where there is none.
    Timestamp(#[serde(with = "rfc3339")] i64),
    /// At the first record that is not older than this, counted from the moment at which an offset is needed; after the last
    /// record where there is none.
    Ago(#[serde(with = "span")] Duration),
}

impl OffsetReset {
    /// Checks the value.
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        let (setting, value) = match self {
            Self::Timestamp(millis) if millis < 0 => ("offset_reset.timestamp", format!("{millis}")),
            Self::Ago(span) if span.is_zero() => ("offset_reset.ago", format!("{span:?}")),
            _ => return Ok(()),
        };
        let remedy = match self {
            Self::Ago(_) => "set it to the age of the oldest record to process, such as 7d, or use \"latest\"",
            _ => "give milliseconds since 1970 (in a file, a time such as 2026-01-01T00:00:00Z), or use \"earliest\"",
        };
        Err(ConfigError::new(setting, value, "is out of range", remedy))
    }

    /// What to ask the broker for; `None` where the policy is to choose nothing. `now` is in milliseconds since the Unix epoch.
    fn spec(self, now: i64) -> Option<OffsetSpec> {
        match self {
            Self::Earliest => Some(OffsetSpec::Earliest),
            Self::Latest => Some(OffsetSpec::Latest),
            Self::None => None,
            Self::Timestamp(millis) => Some(OffsetSpec::Timestamp(millis)),
            Self::Ago(span) => {
                let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
                // Negative timestamps mean other things to the broker.
                Some(OffsetSpec::Timestamp(now.saturating_sub(span).max(0)))
            }
        }
    }
}

/// Milliseconds since the Unix epoch as text.
mod rfc3339 {
    use chrono::{DateTime, SecondsFormat};
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(millis: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        let time = DateTime::from_timestamp_millis(*millis);
        let time = time.ok_or_else(|| serde::ser::Error::custom(format!("{millis} ms since 1970 is no date")))?;
        serializer.serialize_str(&time.to_rfc3339_opts(SecondsFormat::Millis, true))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = DateTime::parse_from_rfc3339(&text).map_err(|error| {
            de::Error::custom(format!("{text:?} is not a time ({error}): write it like \"2026-01-01T00:00:00Z\""))
        })?;
        Ok(time.timestamp_millis())
    }
}

/// A duration as text.
mod span {
    use std::time::Duration;

    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(*span))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        crate::policy::duration::required(deserializer)
    }
}

/// Why a start offset could not be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The reset policy is [`OffsetReset::None`].
    #[error(
        "group {group:?} has no valid committed offset for {partition} ({}; the log holds {log_start} to {log_end}, exclusive) and offset_reset is \"none\": commit an offset of the log (Kafka's consumer-groups tool can, with --reset-offsets), or set offset_reset to \"earliest\" or \"latest\"",
        committed_text(*.committed)
    )]
    NoOffset {
        /// The group.
        group: String,
        /// The partition.
        partition: TopicPartition,
        /// The offset that is committed and is not in the log; `None` where none is committed.
        committed: Option<i64>,
        /// The first offset in the log.
        log_start: i64,
        /// The offset that the next record will get.
        log_end: i64,
    },
    /// The broker could not be asked, or refused.
    #[error(transparent)]
    Broker(#[from] BrokerError),
}

fn committed_text(committed: Option<i64>) -> String {
    match committed {
        Some(offset) => format!("{offset} is committed"),
        None => "none is committed".to_owned(),
    }
}

/// Where a partition starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartOffset {
    pub(crate) partition: TopicPartition,
    /// Committed already, in either case.
    pub(crate) beginning: Beginning,
    /// Whether the reset policy chose it.
    pub(crate) reset: bool,
}

/// Finds the start offsets, and commits those that the reset policy chose before anything is dispatched, so that
/// `latest` and a crash skip nothing.
pub(crate) async fn resolve(
    ports: &Ports,
    group: &str,
    partitions: Vec<TopicPartition>,
    policy: OffsetReset,
) -> Result<Vec<StartOffset>, ResolveError> {
    let committed = ports.offsets.fetch(group.to_owned(), partitions.clone()).await?;
    let mut asked = Vec::new();
    // One moment for all of them.
    let spec = policy.spec(now());
    for (partition, _) in partitions.iter().zip(&committed).filter(|(_, committed)| committed.is_none()) {
        match spec {
            Some(spec) => asked.push((partition.clone(), spec)),
            None => return Err(no_offset(ports, group, partition, None).await?),
        }
    }
    let mut chosen = match asked.is_empty() {
        true => Vec::new(),
        false => ports.admin.offsets(asked).await?,
    }
    .into_iter();
    let mut starts = Vec::with_capacity(partitions.len());
    for (partition, committed) in partitions.into_iter().zip(committed) {
        let (beginning, reset) = match committed {
            Some(committed) => (Beginning::from(committed), false),
            None => (Beginning::committed(chosen.next().ok_or_else(|| lost(&partition))?), true),
        };
        starts.push(StartOffset { partition, beginning, reset });
    }
    let chosen: Vec<_> = starts.iter().filter(|start| start.reset).map(commit_of).collect();
    commit(ports, group, chosen).await?;
    Ok(starts)
}

/// An adapter that answers with fewer offsets than it was asked for.
fn lost(partition: &TopicPartition) -> BrokerError {
    BrokerError::Malformed {
        doing: format!("reading an offset of {partition}"),
        cause: "the adapter left it out".to_owned(),
    }
}

fn commit_of(start: &StartOffset) -> CommittedOffset {
    CommittedOffset::new(start.partition.clone(), start.beginning.start)
}

/// Commits, failing if any one of the offsets cannot be committed.
async fn commit(ports: &Ports, group: &str, offsets: Vec<CommittedOffset>) -> Result<(), BrokerError> {
    if offsets.is_empty() {
        return Ok(());
    }
    ports.offsets.commit(group.to_owned(), offsets).await?.into_iter().collect()
}

/// The offset that the reset policy chooses.
pub(crate) async fn choose(
    ports: &Ports,
    group: &str,
    partition: &TopicPartition,
    policy: OffsetReset,
) -> Result<i64, ResolveError> {
    match policy.spec(now()) {
        Some(spec) => Ok(ports.admin.offset(partition.clone(), spec).await?),
        None => {
            let committed = ports.offsets.fetch(group.to_owned(), vec![partition.clone()]).await?.pop().flatten();
            Err(no_offset(ports, group, partition, committed.map(|committed| committed.offset)).await?)
        }
    }
}

/// The error of a partition that has no valid offset where the policy is to choose none.
pub(crate) async fn no_offset(
    ports: &Ports,
    group: &str,
    partition: &TopicPartition,
    committed: Option<i64>,
) -> Result<ResolveError, BrokerError> {
    let asked = [OffsetSpec::Earliest, OffsetSpec::Latest].map(|spec| (partition.clone(), spec));
    let range = ports.admin.offsets(asked.to_vec()).await?;
    let &[log_start, log_end] = range.as_slice() else { return Err(lost(partition)) };
    Ok(ResolveError::NoOffset { group: group.to_owned(), partition: partition.clone(), committed, log_start, log_end })
}

/// Milliseconds since the Unix epoch.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct File {
        offset_reset: OffsetReset,
    }

    fn read(value: &str) -> Result<OffsetReset, String> {
        let file = toml::from_str::<File>(&format!("offset_reset = {value}"));
        file.map(|file| file.offset_reset).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_names_words_times_and_ages() {
        assert_eq!(read("\"latest\""), Ok(OffsetReset::Latest));
        assert_eq!(read("\"none\""), Ok(OffsetReset::None));
        assert_eq!(read("{ timestamp = \"1970-01-02T01:00:00.5+01:00\" }"), Ok(OffsetReset::Timestamp(86_400_500)));
        assert_eq!(read("{ ago = \"7d\" }"), Ok(OffsetReset::Ago(Duration::from_secs(7 * 24 * 3600))));
        for (value, said) in [
            ("\"first\"", "unknown variant `first`"),
            ("{ timestamp = \"yesterday\" }", "\"yesterday\" is not a time"),
            ("{ ago = \"long\" }", "\"long\" is not a duration"),
        ] {
            let error = read(value).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn what_means_something_else_to_the_broker_is_refused() {
        for (policy, setting) in [
            (OffsetReset::Timestamp(-1), "offset_reset.timestamp"),
            (OffsetReset::Ago(Duration::ZERO), "offset_reset.ago"),
        ] {
            assert_eq!(policy.check().unwrap_err().setting, setting);
        }
        assert_eq!(OffsetReset::Timestamp(0).check(), Ok(()));
    }

    #[test]
    fn the_error_says_what_is_committed_and_what_the_log_holds() {
        let error = |committed| {
            let (group, partition) = ("fulfilment".to_owned(), TopicPartition::new("orders", 3));
            ResolveError::NoOffset { group, partition, committed, log_start: 10, log_end: 20 }.to_string()
        };
        assert!(error(Some(5)).contains("for orders/3 (5 is committed; the log holds 10 to 20, exclusive)"));
        assert!(error(None).contains("for orders/3 (none is committed; the log holds 10 to 20, exclusive)"));
    }

    proptest! {
        #[test]
        fn an_age_counts_back_from_now_and_never_before_1970(now in 0..i64::MAX, millis in 1..u64::MAX) {
            let spec = OffsetReset::Ago(Duration::from_millis(millis)).spec(now);
            let expected = u64::try_from(now).unwrap().saturating_sub(millis);
            prop_assert_eq!(spec, Some(OffsetSpec::Timestamp(i64::try_from(expected).unwrap())));
        }

        #[test]
        fn what_is_written_is_read_again(millis in 0i64..4_000_000_000_000, seconds in 1u64..1_000_000_000) {
            let ago = OffsetReset::Ago(Duration::from_secs(seconds));
            for offset_reset in [OffsetReset::Timestamp(millis), ago, OffsetReset::Earliest] {
                let file = File { offset_reset };
                let text = toml::to_string(&file).unwrap();
                prop_assert_eq!(toml::from_str::<File>(&text).unwrap(), file);
            }
        }
    }
}
