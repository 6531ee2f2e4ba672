//! Alerts over HTTP.

mod alertmanager;
mod custom;
mod json;
mod pagerduty;
mod section;
mod slack;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::Value;

use self::custom::Template;
use super::alert::{Alert, Severity};
use super::sink::{Sink, SinkError};
use super::text::brief;
use crate::broker::BoxFuture;
use crate::broker::security::{Secret, Tls};
use crate::policy::ConfigError;
use crate::web::client::{Address, Advice, Client, Post};

/// The longest part of an answer in the log, in characters.
const SAID: usize = 300;
/// Parts of an address that are longer than this may be secrets.
const TELLING: usize = 6;

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

struct Inner {
    kind: Kind,
    url: Secret,
    headers: Vec<(String, Secret)>,
    tls: Tls,
    timeout: Duration,
    least: Severity,
    /// What settings of it are called in errors.
    setting: String,
    client: Client,
}

/// What is posted.
#[derive(Clone)]
enum Kind {
    Json,
    Slack,
    PagerDuty(Secret),
    Alertmanager,
    Custom(String),
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

/// Stands for the header with a token: a name that no header can have.
const BEARER: &str = "authorization: bearer";

impl Inner {
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Json => "json",
            Kind::Slack => "slack",
            Kind::PagerDuty(_) => "pagerduty",
            Kind::Alertmanager => "alertmanager",
            Kind::Custom(_) => "custom",
        }
    }

    /// Whether the alert is bad enough.
    fn wants(&self, alert: &Alert) -> bool {
        let severity = if alert.is_resolved() { alert.previous.unwrap_or(alert.severity) } else { alert.severity };
        // What was bad enough before it got better is told to be so.
        severity.max(alert.previous.unwrap_or(severity)) >= self.least
    }

    fn address(&self) -> Result<Address, ConfigError> {
        let setting = format!("{}.url", self.setting);
        let text = read(&self.url, &setting, "give the address that the service shows")?;
        let address = Address::parse(&text).map_err(|problem| {
            let remedy = "write it like https://hooks.example/path; keys and tokens have settings of their own";
            ConfigError::new(&setting, Hidden, problem, remedy)
        })?;
        Ok(match self.kind {
            Kind::Alertmanager => address.or_path("/api/v2/alerts"),
            _ => address,
        })
    }

    /// All headers beyond the usual ones, and the texts in them that nobody may see.
    fn headers(&self) -> Result<(Vec<(HeaderName, HeaderValue)>, Vec<String>), ConfigError> {
        let (mut headers, mut secrets) = (Vec::new(), Vec::new());
        for (name, value) in &self.headers {
            let setting = format!("{}.{}", self.setting, if name == BEARER { "bearer_token" } else { "header" });
            let secret = read(value, &setting, "give its value")?;
            let (name, text) = match name.as_str() {
                BEARER => (Ok(AUTHORIZATION), format!("Bearer {secret}")),
                name => (HeaderName::from_bytes(name.as_bytes()), secret.to_string()),
            };
            let wrong = |problem| ConfigError::new(&setting, Hidden, problem, "use visible ASCII characters only");
            let name = name.map_err(|_| wrong("is no name of a header"))?;
            let mut value = HeaderValue::from_str(&text).map_err(|_| wrong("cannot be sent in a header"))?;
            value.set_sensitive(true);
            headers.push((name, value));
            secrets.push(secret.to_string());
        }
        Ok((headers, secrets))
    }

    fn body(&self, alert: &Alert, secrets: &mut Vec<String>) -> Result<Vec<u8>, ConfigError> {
        let body: Value = match &self.kind {
            Kind::Json => json::body(alert),
            Kind::Slack => slack::body(alert),
            Kind::Alertmanager => alertmanager::body(alert),
            Kind::PagerDuty(key) => {
                let setting = format!("{}.routing_key", self.setting);
                let key = read(key, &setting, "give the integration key of the service")?;
                secrets.push(key.to_string());
                pagerduty::body(alert, &key)
            }
            Kind::Custom(template) => {
                let template = Template::parse(template, &format!("{}.template", self.setting))?;
                return Ok(template.render(alert).into_bytes());
            }
        };
        Ok(body.to_string().into_bytes())
    }

    fn post(&self, alert: &Alert) -> Result<(Post, Vec<String>), ConfigError> {
        let address = self.address()?;
        let (headers, mut secrets) = self.headers()?;
        secrets.push(address.path().to_owned());
        secrets.extend(address.path().split(['/', '?', '&', '=']).map(str::to_owned));
        let body = self.body(alert, &mut secrets)?.into();
        Ok((Post { address, headers, body }, secrets))
    }

    async fn send(self: Arc<Self>, alert: Arc<Alert>) -> Result<(), SinkError> {
        if !self.wants(&alert) {
            return Ok(());
        }
        let this = Arc::clone(&self);
        // May read files.
        let made = tokio::task::spawn_blocking(move || this.post(&alert)).await;
        let made = made.map_err(|_| SinkError::temporary("the runtime ends"))?;
        let (post, secrets) = made.map_err(|error| SinkError::temporary(error.to_string()))?;
        self.client.post(post).await.map_err(|problem| {
            let said = brief(&hide(problem.to_string(), &secrets), SAID);
            match problem.advice() {
                Advice::Again => SinkError::temporary(said),
                Advice::After(wait) => SinkError::after(said, wait),
                Advice::Leave => SinkError::permanent(said),
            }
        })
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

/// Shown in place of a secret.
struct Hidden;

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"…\"")
    }
}

/// Reads a secret; whether it is a password or not is all the same to it.
fn read(secret: &Secret, setting: &str, remedy: &str) -> Result<Arc<str>, ConfigError> {
    secret.read(setting).map_err(|error| match error.problem.as_str() {
        "is empty" => ConfigError { remedy: remedy.to_owned(), ..error },
        _ => error,
    })
}

/// A text without secrets: services like to repeat what they were asked for.
fn hide(text: String, secrets: &[String]) -> String {
    let mut telling: Vec<&String> = secrets.iter().filter(|secret| secret.len() > TELLING).collect();
    telling.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    telling.into_iter().fold(text, |text, secret| text.replace(secret.as_str(), "…"))
}

/// A time as the services want it.
fn time(millis: i64) -> String {
    use chrono::{DateTime, SecondsFormat};
    let time = DateTime::from_timestamp_millis(millis).unwrap_or(DateTime::UNIX_EPOCH);
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests;
