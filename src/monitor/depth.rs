use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::alert::Severity;
use super::condition::{Condition, Now, Word};
use super::health::{Status, TopicHealth};
use super::settings::Limits;
use super::text::{grouped, growth, lasting};
use crate::policy::Category;

/// What was read of a dead-letter topic.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub(super) topic: Arc<str>,
    pub(super) category: Option<Category>,
    /// `None` where the topic does not exist.
    pub(super) found: Option<Found>,
}

/// What lies in a dead-letter topic.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) id: Option<Uuid>,
    /// How many are unresolved.
    pub(super) depth: u64,
    /// The timestamp of the oldest unresolved one, where known.
    pub(super) oldest: Option<i64>,
}

/// A dead-letter topic under watch.
#[derive(Debug, Default)]
pub(super) struct Depth {
    last: Option<Reading>,
    /// Depths as far back as the window goes, and one before it.
    history: VecDeque<(Duration, u64)>,
    condition: Condition,
    /// The highest depth since the condition was raised.
    highest: u64,
    /// How many looks in a row did not find the topic.
    missed: u32,
}

/// What is to be told of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) word: Word,
    pub(super) title: String,
    pub(super) message: String,
}

impl Depth {
    /// Takes in a reading.
    pub(super) fn read(&mut self, now: Now, reading: Reading, limits: &Limits) -> Option<Told> {
        let topic = Arc::clone(&reading.topic);
        let Some(found) = &reading.found else {
            self.missed = self.missed.saturating_add(1);
            // A broker that lags behind may not know it for a moment: two looks in a row must say so.
            if self.missed < 2 {
                return None;
            }
            (self.history, self.last) = (VecDeque::new(), Some(reading));
            let word = self.condition.update(now, None, limits.repeat)?;
            let message = "the topic does not exist any more".to_owned();
            return Some(Told { word, title: format!("Resolved: dead-letter topic {topic} is gone"), message });
        };
        self.missed = 0;
        let before = self.last.as_ref().and_then(|last| last.found.as_ref());
        if before.is_some_and(|before| before.id != found.id) {
            // It was deleted and created anew.
            self.history.clear();
        }
        let depth = found.depth;
        self.last = Some(reading);
        self.history.push_back((now.elapsed, depth));
        while self.history.get(1).is_some_and(|(at, _)| now.elapsed.saturating_sub(*at) >= limits.window) {
            self.history.pop_front();
        }
        let level = level(depth, self.condition.severity(), limits);
        if self.condition.severity().is_none() {
            self.highest = 0;
        }
        self.highest = self.highest.max(depth);
        let word = self.condition.update(now, level, limits.repeat)?;
        let (title, message) = match word {
            Word::Lasts { severity, previous, .. } => {
                let threshold = if severity == Severity::Critical { limits.critical } else { limits.warning };
                let title = format!("{}: dead letters in {topic}", severity.title());
                let mut message =
                    format!("depth is {}, threshold is {}{}", grouped(depth), grouped(threshold), self.more(now));
                if previous == Some(Severity::Critical) && severity == Severity::Warning {
                    message.push_str("; it was critical before");
                }
                (title, message)
            }
            Word::Over { lasted, .. } => (
                format!("Resolved: dead letters in {topic}"),
                format!(
                    "depth is {}, below the threshold of {} after {} (it was {} at the most)",
                    grouped(depth),
                    grouped(limits.warning),
                    lasting(lasted),
                    grouped(self.highest)
                ),
            ),
        };
        Some(Told { word, title, message })
    }

    /// Growth and age, as a message goes on.
    fn more(&self, now: Now) -> String {
        let mut more = String::new();
        if let Some((per_minute, window)) = self.growth() {
            more.push_str(&format!(", {} over {}", growth(per_minute), lasting(window)));
        }
        let oldest = self.last.as_ref().and_then(|last| last.found.as_ref()?.oldest);
        if let Some(age) = oldest.and_then(|oldest| age(now, oldest)) {
            more.push_str(&format!(", the oldest is {} old", lasting(age)));
        }
        more
    }

    /// Records per minute, and the time that they were counted over.
    fn growth(&self) -> Option<(f64, Duration)> {
        let (first, before) = self.history.front()?;
        let (last, depth) = self.history.back()?;
        let window = last.checked_sub(*first).filter(|window| !window.is_zero())?;
        Some(((*depth as f64 - *before as f64) * 60.0 / window.as_secs_f64(), window))
    }

    /// How the topic is; `None` before the first reading.
    pub(super) fn health(&self, now: Now, limits: &Limits) -> Option<TopicHealth> {
        let last = self.last.as_ref()?;
        let (depth, oldest, status) = match &last.found {
            None => (0, None, Status::Missing),
            Some(found) => {
                let status = match found.depth {
                    depth if depth >= limits.critical => Status::Critical,
                    depth if depth >= limits.warning => Status::Warning,
                    _ => Status::Healthy,
                };
                (found.depth, found.oldest, status)
            }
        };
        let growth = self.growth();
        Some(TopicHealth {
            topic: Arc::clone(&last.topic),
            category: last.category,
            depth,
            growth: growth.map(|(per_minute, _)| per_minute),
            window: growth.map_or(limits.window, |(_, window)| window),
            oldest,
            age: oldest.and_then(|oldest| age(now, oldest)),
            status,
        })
    }

    pub(super) fn category(&self) -> Option<Category> {
        self.last.as_ref().and_then(|last| last.category)
    }
}

/// How old something is; one from the future is new.
fn age(now: Now, timestamp: i64) -> Option<Duration> {
    (timestamp >= 0).then(|| Duration::from_millis(u64::try_from(now.wall.saturating_sub(timestamp)).unwrap_or(0)))
}

/// How bad a depth is. A level that is reached is left only a tenth below its threshold, so that a depth around that does not
/// come and go.
fn level(depth: u64, before: Option<Severity>, limits: &Limits) -> Option<Severity> {
    let reaches = |threshold: u64, severity| {
        let kept = before.is_some_and(|before| before >= severity);
        depth >= if kept { threshold - threshold / 10 } else { threshold }
    };
    [(limits.critical, Severity::Critical), (limits.warning, Severity::Warning)]
        .into_iter()
        .find(|(threshold, severity)| reaches(*threshold, *severity))
        .map(|(_, severity)| severity)
}

#[cfg(test)]
#[path = "depth_tests.rs"]
mod tests;
