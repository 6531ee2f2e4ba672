use std::collections::HashMap;
use std::time::Duration;

use super::margin::OLD;
use crate::broker::{Admin, BrokerError, OffsetSpec};

/// For how many looks a topic's retention is believed: with the default interval for an hour.
const LOOKS: u32 = 120;

/// After how many looks it is asked again where the broker could not tell for now.
const AGAIN: u32 = 2;

/// How long topics keep records, as far as they remove them by time and this client may know it.
#[derive(Debug, Default)]
pub(super) struct Retention {
    topics: HashMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    time: Option<Duration>,
    looks: u32,
}

impl Retention {
    pub(super) async fn of(&mut self, admin: &dyn Admin, topic: &str) -> Option<Duration> {
        if let Some(known) = self.topics.get_mut(topic)
            && known.looks < LOOKS
        {
            known.looks += 1;
            return known.time;
        }
        let entry = |name: &str| admin.topic_config(topic.to_owned(), name.to_owned());
        let (policy, time) = (entry("cleanup.policy").await, entry("retention.ms").await);
        let is_transient = [&policy, &time].iter().any(|answer| answer.as_ref().is_err_and(BrokerError::is_retriable));
        // What may pass is asked again soon, and not at each look, which would wait for it.
        let looks = if is_transient { LOOKS - AGAIN } else { 0 };
        let time = match (policy, time) {
            // -1 is for ever, and no number here.
            (Ok(Some(policy)), Ok(Some(time))) if policy.contains("delete") => time.parse().ok(),
            _ => None,
        };
        let time = time.map(Duration::from_millis);
        self.topics.insert(topic.to_owned(), Known { time, looks });
        time
    }
}

/// What to ask for to find the first record that has not spent most of its time.
pub(super) fn young(retention: Duration, now: i64) -> Option<OffsetSpec> {
    let old = i64::try_from((retention * OLD / 100).as_millis()).ok()?;
    now.checked_sub(old).filter(|time| *time >= 0).map(OffsetSpec::Timestamp)
}
