use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::broker::{Admin, BrokerError};
use crate::producer::partition_for_key;
use crate::replay::ReplayTimestamp;

/// What there is to know of a topic that is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) partitions: i32,
    /// How long it keeps records, in milliseconds; `None` where it is not known, or for good.
    pub(super) retention: Option<i64>,
}

/// The topics that are sent to, each looked at once.
pub(super) struct Targets {
    admin: Arc<dyn Admin>,
    known: HashMap<Arc<str>, Result<Target, String>>,
}

impl Targets {
    pub(super) fn new(admin: Arc<dyn Admin>) -> Self {
        Self { admin, known: HashMap::new() }
    }

    /// Looks at a topic; the inner error says why nothing can be sent to it.
    pub(super) async fn look(&mut self, topic: &Arc<str>) -> Result<Result<Target, String>, BrokerError> {
        if let Some(known) = self.known.get(topic) {
            return Ok(known.clone());
        }
        let found = self.admin.topics(vec![topic.to_string()]).await?.pop().flatten();
        let target = match found {
            None => Err(format!("topic {topic:?} does not exist (any more): create it, or name another target")),
            Some(found) if found.operations.is_some_and(|operations| !operations.may_write()) => {
                Err(format!("topic {topic:?} may not be written to: grant Write on it to the user that replays"))
            }
            Some(found) => Ok(Target { partitions: found.partitions, retention: self.retention(topic).await? }),
        };
        self.known.insert(Arc::clone(topic), target.clone());
        Ok(target)
    }

    async fn retention(&self, topic: &str) -> Result<Option<i64>, BrokerError> {
        let mut entries = [None, None];
        for (entry, name) in entries.iter_mut().zip(["cleanup.policy", "retention.ms"]) {
            *entry = match self.admin.topic_config(topic.to_owned(), name.to_owned()).await {
                Ok(value) => value,
                // Without the right to look, it is taken to keep everything.
                Err(error) if error.code().is_some_and(|code| code.is_authorization()) => return Ok(None),
                Err(error) => return Err(error),
            };
        }
        let [policy, retention] = entries;
        let deletes = policy.is_none_or(|policy| policy.contains("delete"));
        Ok(retention.filter(|_| deletes).and_then(|it| it.parse().ok()).filter(|millis| *millis >= 0))
    }
}

/// The partition that a record goes to: that of the same number where the topic has it, else the one that Kafka's Java client
/// would choose for the key, or any where there is none.
pub(super) fn partition(
    source: Option<i32>,
    key: Option<&Bytes>,
    partitions: i32,
    random: impl FnOnce(i32) -> i32,
) -> i32 {
    match (source.filter(|source| (0..partitions).contains(source)), key) {
        (Some(same), _) => same,
        (None, Some(key)) => partition_for_key(key, partitions),
        (None, None) => random(partitions.max(1)),
    }
}

/// The timestamp that a record is sent with (`None`: the time of sending), and whether it is not the original one since that
/// would not be kept. All times in milliseconds.
pub(super) fn timestamp(
    wanted: ReplayTimestamp,
    original: Option<i64>,
    (now, retention): (i64, Option<i64>),
) -> (Option<i64>, bool) {
    match original {
        Some(original) if wanted == ReplayTimestamp::Original && original >= 0 => {
            let age = now.saturating_sub(original);
            let too_old = retention.is_some_and(|retention| age > retention / 10 * 9);
            (Some(original).filter(|_| !too_old), too_old)
        }
        _ => (None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_partition_then_by_key_then_any() {
        let key = Bytes::from_static(b"k");
        let of = |source, key| partition(source, key, 3, |_| 2);
        assert_eq!(of(Some(1), Some(&key)), 1);
        for source in [Some(3), Some(-1), None] {
            assert_eq!(of(source, Some(&key)), partition_for_key(b"k", 3));
            assert_eq!(of(source, None), 2);
        }
    }

    #[test]
    fn the_original_timestamp_is_kept_where_it_would_be_kept() {
        use ReplayTimestamp::{Now, Original};
        assert_eq!(timestamp(Original, Some(100), (1_000, None)), (Some(100), false));
        assert_eq!(timestamp(Original, Some(100), (1_000, Some(1_000))), (Some(100), false));
        assert_eq!(timestamp(Original, Some(99), (1_000, Some(1_000))), (None, true));
        assert_eq!(timestamp(Original, Some(5_000), (1_000, Some(10))), (Some(5_000), false));
        for unknown in [None, Some(-1), Some(i64::MIN)] {
            assert_eq!(timestamp(Original, unknown, (1_000, Some(10))), (None, false));
        }
        assert_eq!(timestamp(Now, Some(100), (1_000, None)), (None, false));
    }
}
