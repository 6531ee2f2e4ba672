use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::mpsc::Sender;

use crate::broker::BoxFuture;
use crate::cli::exit::CliError;
use crate::cli::output::time::{age, now, rfc3339};
use crate::cli::output::{Out, note, thousands};
use crate::monitor::{Alert, Sink, SinkError, Status, TopicHealth};

/// What there is to show.
pub(super) enum News {
    Found(Vec<TopicHealth>),
    Alert(Arc<Alert>),
    Trouble(String),
}

/// Shows alerts where the command runs.
pub(super) struct Here(pub(super) Sender<News>);

impl Sink for Here {
    fn name(&self) -> String {
        "standard output".to_owned()
    }

    fn send(&self, alert: Arc<Alert>) -> BoxFuture<Result<(), SinkError>> {
        let news = self.0.clone();
        Box::pin(async move {
            let sent = news.send(News::Alert(alert)).await;
            sent.map_err(|_| SinkError::permanent("the command has ended"))
        })
    }
}

/// Shows news: for people only what is new, for programs all.
pub(super) fn tell(news: News, shown: &mut HashMap<Arc<str>, (Status, u64)>, out: &mut Out) -> Result<(), CliError> {
    match news {
        News::Found(found) if out.is_json() => found.iter().try_for_each(|topic| out.json(&HealthJson::new(topic))),
        News::Found(found) => found.iter().try_for_each(|topic| {
            let is = (topic.status, topic.depth);
            match shown.insert(Arc::clone(&topic.topic), is) == Some(is) {
                true => Ok(()),
                false => out.text(&line(topic)),
            }
        }),
        News::Alert(alert) if out.is_json() => out.json(&AlertJson::new(&alert)),
        News::Alert(alert) => out.text(&format!("{}  {}: {}", rfc3339(alert.at), alert.title, alert.message)),
        News::Trouble(text) => {
            note(&text);
            Ok(())
        }
    }
}

fn line(topic: &TopicHealth) -> String {
    let growth = topic.growth.map(|growth| format!(", {growth:+.1} per minute"));
    let oldest = topic.oldest.map(|oldest| format!(", the oldest {} old", age(now(), oldest)));
    format!(
        "{}  {}: {}, {} unresolved{}{}",
        rfc3339(now()),
        topic.topic,
        topic.status,
        thousands(topic.depth),
        growth.unwrap_or_default(),
        oldest.unwrap_or_default()
    )
}

/// How a topic is, as a JSON line.
#[derive(Debug, Serialize)]
pub(super) struct HealthJson<'a> {
    kind: &'static str,
    at: String,
    topic: &'a str,
    category: Option<&'a str>,
    status: &'a str,
    unresolved: u64,
    growth_per_minute: Option<f64>,
    window_seconds: f64,
    oldest: Option<String>,
    oldest_age_seconds: Option<f64>,
}

impl<'a> HealthJson<'a> {
    pub(super) fn new(topic: &'a TopicHealth) -> Self {
        Self {
            kind: "health",
            at: rfc3339(now()),
            topic: &topic.topic,
            category: topic.category.map(|category| category.as_str()),
            status: topic.status.as_str(),
            unresolved: topic.depth,
            growth_per_minute: topic.growth,
            window_seconds: topic.window.as_secs_f64(),
            oldest: topic.oldest.map(rfc3339),
            oldest_age_seconds: topic.age.map(|age| age.as_secs_f64()),
        }
    }
}

/// An alert as a JSON line.
#[derive(Debug, Serialize)]
struct AlertJson<'a> {
    kind: &'static str,
    at: String,
    key: &'a str,
    state: &'static str,
    severity: &'static str,
    title: &'a str,
    message: &'a str,
    tags: &'a BTreeMap<String, String>,
    since: String,
}

impl<'a> AlertJson<'a> {
    fn new(alert: &'a Alert) -> Self {
        Self {
            kind: "alert",
            at: rfc3339(alert.at),
            key: &alert.key,
            state: alert.state.as_str(),
            severity: alert.severity.as_str(),
            title: &alert.title,
            message: &alert.message,
            tags: &alert.tags,
            since: rfc3339(alert.since),
        }
    }
}
