use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::settings::MonitorSettings;
use crate::broker::security::Secret;
use crate::policy::ConfigError;
use crate::policy::duration::optional;

/// [`MonitorSettings`] as a configuration file writes them; what is left out has its default.
///
/// ```toml
/// [monitor]
/// warning = 50
/// repeat = "4h"
/// tags = { environment = "production" }
///
/// [[monitor.webhooks]]
/// kind = "slack"
/// url_env = "SLACK_WEBHOOK"
///
/// [[monitor.webhooks]]
/// kind = "pagerduty"
/// routing_key_file = "/run/secrets/pagerduty"
/// least = "critical"
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct MonitorSection {
    /// Whether there is a monitor. Default true.
    pub enabled: Option<bool>,
    /// See [`MonitorSettings::interval`].
    #[serde(deserialize_with = "optional")]
    pub interval: Option<Duration>,
    /// See [`MonitorSettings::window`].
    #[serde(deserialize_with = "optional")]
    pub window: Option<Duration>,
    /// See [`MonitorSettings::thresholds`].
    pub warning: Option<u64>,
    /// See [`MonitorSettings::thresholds`].
    pub critical: Option<u64>,
    /// See [`MonitorSettings::repeat`].
    #[serde(deserialize_with = "optional")]
    pub repeat: Option<Duration>,
    /// See [`MonitorSettings::group_interval`].
    #[serde(deserialize_with = "optional")]
    pub group_interval: Option<Duration>,
    /// See [`MonitorSettings::held_after`].
    #[serde(deserialize_with = "optional")]
    pub held_after: Option<Duration>,
    /// See [`MonitorSettings::log`].
    pub log: Option<bool>,
    /// See [`MonitorSettings::tag`].
    pub tags: BTreeMap<String, String>,
    /// Webhooks that are told, besides the log. Need the feature `web`.
    pub webhooks: Vec<WebhookSection>,
}

/// A webhook as a configuration file writes it. Addresses are secrets, since whoever has one can send to it: better kept out of
/// the file by `url_file` or `url_env`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WebhookSection {
    /// What it speaks.
    pub kind: WebhookKind,
    /// The address; one of this and the next two, except for PagerDuty, which has one of its own.
    #[serde(default)]
    pub url: Option<Secret>,
    /// The file that holds the address.
    #[serde(default)]
    pub url_file: Option<PathBuf>,
    /// The environment variable that holds the address.
    #[serde(default)]
    pub url_env: Option<String>,
    /// PagerDuty's integration key; one of this and the next two, for `pagerduty` only.
    #[serde(default)]
    pub routing_key: Option<Secret>,
    /// The file that holds the key.
    #[serde(default)]
    pub routing_key_file: Option<PathBuf>,
    /// The environment variable that holds the key.
    #[serde(default)]
    pub routing_key_env: Option<String>,
    /// The JSON text with placeholders; for `custom` only.
    #[serde(default)]
    pub template: Option<String>,
    /// A token that is sent as `Authorization: Bearer`; one of this and the next two, or none.
    #[serde(default)]
    pub bearer_token: Option<Secret>,
    /// The file that holds the token.
    #[serde(default)]
    pub bearer_token_file: Option<PathBuf>,
    /// The environment variable that holds the token.
    #[serde(default)]
    pub bearer_token_env: Option<String>,
    /// The file with the certificates to trust, in place of the system's.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// How bad an alert must be to be sent: `info` (default: all), `warning` or `critical`.
    #[serde(default)]
    pub least: Least,
    /// How long one attempt may take. Default 10 s.
    #[serde(default, deserialize_with = "optional")]
    pub timeout: Option<Duration>,
}

/// What a webhook speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WebhookKind {
    /// Plain JSON.
    Json,
    /// Incoming webhooks of Slack.
    Slack,
    /// PagerDuty's Events API v2.
    PagerDuty,
    /// Alertmanager's API v2.
    Alertmanager,
    /// The `template`.
    Custom,
}

/// How bad an alert must be to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Least {
    /// All.
    #[default]
    Info,
    /// Warnings and critical ones.
    Warning,
    /// Critical ones.
    Critical,
}

impl MonitorSection {
    /// The settings so described.
    ///
    /// # Errors
    /// Names the setting that is missing or goes with none of the others. Whether values can be used is for
    /// [`MonitorSettings::check`] to say.
    pub fn build(self) -> Result<MonitorSettings, ConfigError> {
        let mut settings = MonitorSettings::new();
        settings.enabled = self.enabled.unwrap_or(true);
        settings.log = self.log.unwrap_or(true);
        settings.tags = self.tags;
        let limits = &mut settings.limits;
        let durations = [
            (self.interval, &mut limits.interval),
            (self.window, &mut limits.window),
            (self.repeat, &mut limits.repeat),
            (self.group_interval, &mut limits.group_interval),
            (self.held_after, &mut limits.held_after),
        ];
        for (written, limit) in durations {
            *limit = written.unwrap_or(*limit);
        }
        limits.warning = self.warning.unwrap_or(limits.warning);
        limits.critical = self.critical.unwrap_or(limits.critical);
        for (number, webhook) in self.webhooks.into_iter().enumerate() {
            settings = add(settings, webhook, &format!("monitor.webhooks[{number}]"))?;
        }
        Ok(settings)
    }
}

#[cfg(feature = "web")]
fn add(settings: MonitorSettings, webhook: WebhookSection, path: &str) -> Result<MonitorSettings, ConfigError> {
    webhook.build(path).map(|webhook| settings.sink(webhook))
}

#[cfg(not(feature = "web"))]
fn add(_: MonitorSettings, webhook: WebhookSection, path: &str) -> Result<MonitorSettings, ConfigError> {
    let remedy = "build bezoar with the feature `web`, or leave the webhook out";
    Err(ConfigError::new(path, webhook.kind, "is not in this build", remedy))
}
