//! Alerts over HTTP.

mod alertmanager;
mod custom;
mod json;
mod pagerduty;
mod post;
mod section;
mod slack;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use self::post::{BEARER, Inner, Kind};
use super::alert::{Alert, Severity};
use super::sink::{Sink, SinkError};
use crate::broker::BoxFuture;
use crate::broker::security::{Secret, Tls};
use crate::policy::ConfigError;
use crate::web::client::Client;

/// Posts alerts to a web service: plain JSON, Slack, PagerDuty, Alertmanager, or by a template of your own. Needs the feature
/// `web`, and `tls` for addresses that begin with `https://`.
///
/// An answer of 408, 425, 429 or 5xx, and none, is tried again after waits that grow from one second to a minute, or as long as the
/// service asks for by `Retry-After`, at most 10 min; other answers than success give the alert up. Redirects are not followed,
/// and proxies are not used. Addresses and keys are secrets: they are in no log, and files and variables that hold them are read
/// for each alert.
///
/// ```
/// use bezoar::broker::security::Secret;
/// use bezoar::monitor::{MonitorSettings, Severity, Webhook};
///
/// let settings = MonitorSettings::new()
///     .sink(Webhook::slack(Secret::env("SLACK_WEBHOOK")))
///     .sink(Webhook::pagerduty(Secret::file("/run/secrets/pagerduty")).least(Severity::Critical));
/// ```
pub struct Webhook {
    inner: Arc<Inner>,
}

/// Where PagerDuty takes events, its service region in the United States.
const PAGERDUTY: &str = "https://events.pagerduty.com/v2/enqueue";

impl Webhook {
    /// Plain JSON: `version`, `key`, `kind`, `status`, `severity`, `page`, `title`, `message`, `tags`, `source`, `since`, `at`.
    pub fn json(url: impl Into<Secret>) -> Self {
        Self::new(Kind::Json, url.into())
    }

    /// An incoming webhook of Slack, or of what understands the same (Mattermost, Discord's addresses that end with `/slack`).
    pub fn slack(url: impl Into<Secret>) -> Self {
        Self::new(Kind::Slack, url.into())
    }

    /// PagerDuty's Events API v2, with the integration key of a service. What lasts opens an incident and resolves it; records that
    /// were given up open one per topic and category, which people resolve.
    pub fn pagerduty(routing_key: impl Into<Secret>) -> Self {
        Self::new(Kind::PagerDuty(routing_key.into()), PAGERDUTY.into())
    }

    /// Alertmanager's API v2; of an address without a path the path is `/api/v2/alerts`. Tags become labels.
    pub fn alertmanager(url: impl Into<Secret>) -> Self {
        Self::new(Kind::Alertmanager, url.into())
    }

    /// A JSON text of your own with placeholders: `{{title}}`, `{{message}}`, `{{severity}}`, `{{status}}` (`firing`, `resolved`),
    /// `{{kind}}`, `{{key}}`, `{{source}}`, `{{since}}` and `{{at}}` (RFC 3339), `{{tags.NAME}}` (empty where there is no such tag),
    /// escaped as JSON asks for within quotes; `{{page}}` (`true`, `false`), `{{since_ms}}`, `{{at_ms}}` and `{{tags}}` (an
    /// object) as they are.
    ///
    /// ```
    /// let url = bezoar::broker::security::Secret::env("HOOK");
    /// let webhook = bezoar::monitor::Webhook::custom(url, r#"{"summary": "{{severity}}: {{title}}", "labels": {{tags}}}"#);
    /// ```
    pub fn custom(url: impl Into<Secret>, template: impl Into<String>) -> Self {
        Self::new(Kind::Custom(template.into()), url.into())
    }

    fn new(kind: Kind, url: Secret) -> Self {
        let (timeout, setting) = (Duration::from_secs(10), "webhook".to_owned());
        Self::of(Inner {
            kind,
            url,
            headers: Vec::new(),
            tls: Tls::new(),
            timeout,
            least: Severity::Info,
            setting,
            client: Client::new(Tls::new(), timeout),
        })
    }

    fn of(inner: Inner) -> Self {
        let client = Client::new(inner.tls.clone(), inner.timeout);
        Self { inner: Arc::new(Inner { client, ..inner }) }
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        // It was handed out to nobody yet.
        match Arc::try_unwrap(self.inner) {
            Ok(mut inner) => {
                change(&mut inner);
                Self::of(inner)
            }
            Err(inner) => Self { inner },
        }
    }

    /// Another address: PagerDuty's service region in the European Union, say.
    pub fn url(self, url: impl Into<Secret>) -> Self {
        self.with(|inner| inner.url = url.into())
    }

    /// A header of each post.
    pub fn header(self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.with(|inner| inner.headers.push((name.into(), value.into())))
    }

    /// A token that is sent as `Authorization: Bearer …`.
    pub fn bearer_token(self, token: impl Into<Secret>) -> Self {
        self.header(BEARER, token)
    }

    /// Trusts the certificates in a PEM file in place of the system's.
    pub fn ca_file(self, path: impl Into<PathBuf>) -> Self {
        self.with(|inner| inner.tls = Tls::new().ca_file(path))
    }

    /// How long one attempt may take, connecting and answer included. Default 10 s, at most 30 s.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|inner| inner.timeout = timeout)
    }

    /// How bad an alert must be to be sent. Default [`Severity::Info`]: all. That a trouble is over is sent where the trouble was.
    pub fn least(self, least: Severity) -> Self {
        self.with(|inner| inner.least = least)
    }

    pub(in crate::monitor) fn setting(self, setting: &str) -> Self {
        self.with(|inner| inner.setting = setting.to_owned())
    }
}

impl Sink for Webhook {
    fn name(&self) -> String {
        match self.inner.address() {
            Ok(address) => format!("{} at {}", self.inner.name(), address.host()),
            Err(_) => self.inner.name().to_owned(),
        }
    }

    fn send(&self, alert: Arc<Alert>) -> BoxFuture<Result<(), SinkError>> {
        Box::pin(Arc::clone(&self.inner).send(alert))
    }

    fn check(&self) -> Result<(), ConfigError> {
        let inner = &self.inner;
        let setting = |name: &str| format!("{}.{name}", inner.setting);
        if inner.timeout < Duration::from_millis(1) || inner.timeout > Duration::from_secs(30) {
            let value = crate::policy::duration::text(inner.timeout);
            return Err(ConfigError::new(setting("timeout"), value, "is out of range", "set it between 1ms and 30s"));
        }
        inner.post(&custom::sample())?;
        if inner.address()?.is_secure() {
            inner.client.check().map_err(|error| ConfigError {
                setting: error.setting.replace("security.tls", &inner.setting),
                ..error
            })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Webhook({})", self.name())
    }
}

/// A time as the services want it.
fn time(millis: i64) -> String {
    use chrono::{DateTime, SecondsFormat};
    let time = DateTime::from_timestamp_millis(millis).unwrap_or(DateTime::UNIX_EPOCH);
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests;
