use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::alert::{Alert, AlertKind, AlertState, Severity};
use super::condition::{Now, Word};
use super::depth::{Depth, Reading};
use super::health::TopicHealth;
use super::holds::{Hold, Holds};
use super::margin::{Margin, Position};
use super::settings::Limits;
use super::windows::{self, Windows};
use crate::event::{LetterGroup, Letters};
use crate::record::TopicPartition;

/// What a monitor knows: what was read and heard goes in, alerts come out. It does nothing by itself.
#[derive(Debug)]
pub(super) struct State {
    limits: Limits,
    signature: Signature,
    topics: BTreeMap<Arc<str>, Depth>,
    windows: Windows,
    holds: Holds,
    margins: BTreeMap<TopicPartition, Margin>,
}

/// What is the same in all alerts of a monitor.
#[derive(Debug, Clone, Default)]
pub(super) struct Signature {
    pub(super) source: Arc<str>,
    /// The consumer's group; `None` for a monitor outside of a consumer.
    pub(super) group: Option<String>,
    pub(super) tags: BTreeMap<String, String>,
}

impl State {
    pub(super) fn new(limits: Limits, signature: Signature) -> Self {
        let (topics, windows, holds, margins) = Default::default();
        Self { limits, signature, topics, windows, holds, margins }
    }

    /// Takes in readings. Those are all topics that it is to speak of: of the others it knows nothing any more, since another
    /// instance speaks of them. `unread` could not be read this time and stay as they were.
    pub(super) fn read(&mut self, now: Now, readings: Vec<Reading>, unread: &BTreeSet<Arc<str>>) -> Vec<Alert> {
        let spoken: BTreeSet<_> = readings.iter().map(|reading| Arc::clone(&reading.topic)).collect();
        self.topics.retain(|topic, _| spoken.contains(topic) || unread.contains(topic));
        let mut alerts = Vec::new();
        for reading in readings {
            let topic = Arc::clone(&reading.topic);
            let depth = self.topics.entry(Arc::clone(&topic)).or_default();
            let Some(told) = depth.read(now, reading, &self.limits) else { continue };
            let category = depth.category().map(|category| ("category", category.to_string()));
            let tags = tags([("topic", topic.to_string())].into_iter().chain(category));
            let key = format!("depth/{topic}");
            alerts.push(self.lasting(now, AlertKind::Depth, key, tags, (told.word, told.title, told.message)));
        }
        alerts
    }

    /// Takes in records that were given up.
    pub(super) fn letters(&mut self, now: Now, letters: Vec<(LetterGroup, Letters)>) -> Vec<Alert> {
        let told = self.windows.add(now, letters, self.limits.group_interval);
        told.into_iter().map(|told| self.given_up(now, told)).collect()
    }

    /// Takes in what is held.
    pub(super) fn held(&mut self, now: Now, holds: &[Hold]) -> Vec<Alert> {
        let told = self.holds.look(now, holds, &self.limits);
        let group = self.signature.group.clone();
        let alert = |told: super::holds::Told| {
            let key = format!("held/{}/{}", group.as_deref().unwrap_or_default(), told.topic);
            let tags = tags([("topic", told.topic)]);
            self.lasting(now, AlertKind::Held, key, tags, (told.word, told.title, told.message))
        };
        told.into_iter().map(alert).collect()
    }

    /// Takes in where the consumer's partitions stand. `ours` are all that it has: of others nothing is known any more. Those
    /// without a position, since they start again or could not be looked at, stay as they were.
    pub(super) fn positions(
        &mut self,
        now: Now,
        ours: &BTreeSet<TopicPartition>,
        positions: &[Position],
    ) -> Vec<Alert> {
        self.margins.retain(|partition, _| ours.contains(partition));
        let mut alerts = Vec::new();
        for position in positions {
            let partition = &position.partition;
            let margin = self.margins.entry(partition.clone()).or_default();
            let Some(told) = margin.look(now, position, self.limits.repeat) else { continue };
            let key = format!("retention/{}/{partition}", self.signature.group.as_deref().unwrap_or_default());
            let tags =
                tags([("topic", partition.topic().to_owned()), ("partition", partition.partition().to_string())]);
            alerts.push(self.lasting(now, AlertKind::Retention, key, tags, (told.word, told.title, told.message)));
        }
        alerts
    }

    /// What is due by now; and the groups of letters that are over.
    pub(super) fn due(&mut self, now: Now) -> (Vec<Alert>, Vec<LetterGroup>) {
        let (told, over) = self.windows.due(now, self.limits.group_interval);
        (told.into_iter().map(|told| self.given_up(now, told)).collect(), over)
    }

    /// Everything that waits for its time.
    pub(super) fn flush(&mut self, now: Now) -> Vec<Alert> {
        let told = self.windows.flush(now);
        told.into_iter().map(|told| self.given_up(now, told)).collect()
    }

    /// When something is due next.
    pub(super) fn next(&self) -> Option<Duration> {
        self.windows.next().into_iter().chain(self.holds.next(&self.limits)).min()
    }

    /// How the topics are, by name.
    pub(super) fn health(&self, now: Now) -> Vec<TopicHealth> {
        self.topics.values().filter_map(|depth| depth.health(now, &self.limits)).collect()
    }

    fn given_up(&self, now: Now, told: windows::Told) -> Alert {
        let LetterGroup { topic, category } = told.group;
        let key = format!("letters/{topic}/{category}");
        let tags = tags([("topic", topic), ("category", category.to_string())]);
        Alert {
            severity: told.severity,
            page: told.page,
            ..self.alert(now, AlertKind::Letters, key, tags, (told.since, told.title, told.message))
        }
    }

    fn lasting(
        &self,
        now: Now,
        kind: AlertKind,
        key: String,
        tags: BTreeMap<String, String>,
        (word, title, message): (Word, String, String),
    ) -> Alert {
        let (state, severity, previous, since) = match word {
            Word::Lasts { severity, previous, since } => (AlertState::Firing, severity, previous, since),
            Word::Over { previous, since, .. } => (AlertState::Resolved, Severity::Info, Some(previous), since),
        };
        Alert { state, severity, previous, ..self.alert(now, kind, key, tags, (since, title, message)) }
    }

    fn alert(
        &self,
        now: Now,
        kind: AlertKind,
        key: String,
        mut tags: BTreeMap<String, String>,
        (since, title, message): (i64, String, String),
    ) -> Alert {
        let group = self.signature.group.clone().map(|group| ("group".to_owned(), group));
        tags.extend(group);
        tags.extend(self.signature.tags.clone());
        // Two looks more than it takes until the next word: that one may come late.
        let lasts = self.limits.repeat + 2 * self.limits.interval;
        Alert {
            key: self.signature.key(&key).into(),
            kind,
            state: AlertState::Firing,
            severity: Severity::Info,
            previous: None,
            page: false,
            title,
            message,
            tags,
            source: Arc::clone(&self.signature.source),
            since,
            at: now.wall,
            until: now.wall.saturating_add(i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX)),
        }
    }
}

/// As long as PagerDuty's may be, which is the shortest limit there is.
const LONGEST_KEY: usize = 255;

impl Signature {
    /// A key with what tells this monitor's environment from others.
    fn key(&self, key: &str) -> String {
        let tags: String = self.tags.iter().map(|(name, value)| format!(";{name}={value}")).collect();
        let key = format!("bezoar/{key}{tags}");
        if key.len() <= LONGEST_KEY {
            return key;
        }
        // Long topics may differ at their ends only.
        let digest = <sha2::Sha256 as sha2::Digest>::digest(key.as_bytes());
        let digest: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("{}#{digest}", &key[..key.floor_char_boundary(LONGEST_KEY - digest.len() - 1)])
    }
}

fn tags<'a>(tags: impl IntoIterator<Item = (&'a str, String)>) -> BTreeMap<String, String> {
    tags.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
