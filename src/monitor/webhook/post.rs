use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::Value;

use super::custom::Template;
use super::{alertmanager, json, pagerduty, slack};
use crate::broker::security::{Secret, Tls};
use crate::monitor::alert::{Alert, Severity};
use crate::monitor::sink::SinkError;
use crate::monitor::text::brief;
use crate::policy::ConfigError;
use crate::web::client::{Address, Advice, Client, Post};

type Headers = Vec<(HeaderName, HeaderValue)>;

/// The longest part of an answer in the log, in characters.
const SAID: usize = 300;
/// Parts of an address that are longer than this may be secrets.
const TELLING: usize = 6;

/// A webhook as it is when it is handed out.
pub(super) struct Inner {
    pub(super) kind: Kind,
    pub(super) url: Secret,
    pub(super) headers: Vec<(String, Secret)>,
    pub(super) tls: Tls,
    pub(super) timeout: Duration,
    pub(super) least: Severity,
    /// What settings of it are called in errors.
    pub(super) setting: String,
    pub(super) client: Client,
}

/// What is posted.
#[derive(Clone)]
pub(super) enum Kind {
    Json,
    Slack,
    PagerDuty(Secret),
    Alertmanager,
    Custom(String),
}

/// Stands for the header with a token: a name that no header can have.
pub(super) const BEARER: &str = "authorization: bearer";

impl Inner {
    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Json => "json",
            Kind::Slack => "slack",
            Kind::PagerDuty(_) => "pagerduty",
            Kind::Alertmanager => "alertmanager",
            Kind::Custom(_) => "custom",
        }
    }

    /// Whether the alert is bad enough.
    pub(super) fn wants(&self, alert: &Alert) -> bool {
        let severity = if alert.is_resolved() { alert.previous.unwrap_or(alert.severity) } else { alert.severity };
        // What was bad enough before it got better is told to be so.
        severity.max(alert.previous.unwrap_or(severity)) >= self.least
    }

    pub(super) fn address(&self) -> Result<Address, ConfigError> {
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
    fn headers(&self) -> Result<(Headers, Vec<String>), ConfigError> {
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

    pub(super) fn post(&self, alert: &Alert) -> Result<(Post, Vec<String>), ConfigError> {
        let address = self.address()?;
        let (headers, mut secrets) = self.headers()?;
        secrets.push(address.path().to_owned());
        secrets.extend(address.path().split(['/', '?', '&', '=']).map(str::to_owned));
        let body = self.body(alert, &mut secrets)?.into();
        Ok((Post { address, headers, body }, secrets))
    }

    pub(super) async fn send(self: Arc<Self>, alert: Arc<Alert>) -> Result<(), SinkError> {
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
pub(super) fn hide(text: String, secrets: &[String]) -> String {
    let mut telling: Vec<&String> = secrets.iter().filter(|secret| secret.len() > TELLING).collect();
    telling.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    telling.into_iter().fold(text, |text, secret| text.replace(secret.as_str(), "…"))
}
