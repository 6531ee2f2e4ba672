use std::path::PathBuf;

use super::Webhook;
use crate::broker::security::Secret;
use crate::monitor::alert::Severity;
use crate::monitor::section::{Least, WebhookKind, WebhookSection};
use crate::policy::ConfigError;

/// A secret in one of its three forms.
type Forms = (Option<Secret>, Option<PathBuf>, Option<String>);

impl WebhookSection {
    /// The webhook so described; `path` is its place in the file.
    pub(in crate::monitor) fn build(self, path: &str) -> Result<Webhook, ConfigError> {
        let kind = self.kind;
        let url = one(path, "url", (self.url, self.url_file, self.url_env))?;
        let key = one(path, "routing_key", (self.routing_key, self.routing_key_file, self.routing_key_env))?;
        let token = one(path, "bearer_token", (self.bearer_token, self.bearer_token_file, self.bearer_token_env))?;
        let unused = |name: &str, kind: &str| {
            let problem = format!("goes with kind = \"{kind}\" only");
            Err(ConfigError::new(format!("{path}.{name}"), "…", problem, "leave it out"))
        };
        if key.is_some() && kind != WebhookKind::PagerDuty {
            return unused("routing_key", "pagerduty");
        }
        if self.template.is_some() && kind != WebhookKind::Custom {
            return unused("template", "custom");
        }
        let missing = |name: &str, remedy: &str| ConfigError::new(format!("{path}.{name}"), "", "is missing", remedy);
        let address = |url: Option<Secret>| {
            url.ok_or_else(|| missing("url", "give the address that the service shows: one of url, url_file, url_env"))
        };
        let mut webhook = match kind {
            WebhookKind::Json => Webhook::json(address(url)?),
            WebhookKind::Slack => Webhook::slack(address(url)?),
            WebhookKind::Alertmanager => Webhook::alertmanager(address(url)?),
            WebhookKind::Custom => {
                let remedy = "write the JSON text to send, such as '{\"text\": \"{{title}}\"}'";
                Webhook::custom(address(url)?, self.template.ok_or_else(|| missing("template", remedy))?)
            }
            WebhookKind::PagerDuty => {
                let remedy =
                    "give the service's integration key: one of routing_key, routing_key_file, routing_key_env";
                let webhook = Webhook::pagerduty(key.ok_or_else(|| missing("routing_key", remedy))?);
                match url {
                    Some(url) => webhook.url(url),
                    None => webhook,
                }
            }
        };
        webhook = webhook.setting(path).least(match self.least {
            Least::Info => Severity::Info,
            Least::Warning => Severity::Warning,
            Least::Critical => Severity::Critical,
        });
        if let Some(token) = token {
            webhook = webhook.bearer_token(token);
        }
        if let Some(file) = self.ca_file {
            webhook = webhook.ca_file(file);
        }
        if let Some(timeout) = self.timeout {
            webhook = webhook.timeout(timeout);
        }
        Ok(webhook)
    }
}

/// A secret that is given once, or not at all.
fn one(path: &str, name: &str, forms: Forms) -> Result<Option<Secret>, ConfigError> {
    match forms {
        (None, None, None) => Ok(None),
        (Some(secret), None, None) => Ok(Some(secret)),
        (None, Some(file), None) => Ok(Some(Secret::file(file))),
        (None, None, Some(variable)) => Ok(Some(Secret::env(variable))),
        _ => {
            let remedy = format!("keep one of {name}, {name}_file, {name}_env");
            Err(ConfigError::new(format!("{path}.{name}"), "…", "is given more than once", remedy))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::monitor::{MonitorSection, MonitorSettings};
    use crate::policy::ConfigError;

    fn build(text: &str) -> Result<MonitorSettings, ConfigError> {
        toml::from_str::<MonitorSection>(text).unwrap().build()
    }

    fn error(webhook: &str) -> String {
        build(&format!("[[webhooks]]\n{webhook}")).and_then(|settings| settings.check()).unwrap_err().to_string()
    }

    #[test]
    fn everything_can_be_written_in_a_file() {
        let settings = build(
            r#"
            enabled = true
            interval = "1m"
            window = "10m"
            warning = 5
            critical = 6
            repeat = "2h"
            group_interval = "5m"
            held_after = "1m"
            log = false
            tags = { environment = "test" }
            [[webhooks]]
            kind = "json"
            url = "http://localhost/hook"
            bearer_token = "hunter2"
            timeout = "3s"
            least = "warning"
            [[webhooks]]
            kind = "slack"
            url = "http://hooks.example/services/T0/B0/hunter2"
            [[webhooks]]
            kind = "pagerduty"
            routing_key = "hunter2"
            url = "http://localhost/v2/enqueue"
            [[webhooks]]
            kind = "alertmanager"
            url = "http://localhost:9093"
            [[webhooks]]
            kind = "custom"
            url = "http://localhost:9093"
            template = '{"text": "{{title}}"}'
            "#,
        );
        let settings = settings.unwrap();
        settings.check().unwrap();
        let shown = format!("{settings:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("log"), "{shown}");
        assert!(shown.contains("slack at hooks.example"), "{shown}");
        assert!(!build("enabled = false").unwrap().enabled);
    }

    #[test]
    fn mistakes_are_named_and_secrets_are_not_shown() {
        for (webhook, says) in [
            ("kind = 'slack'", "monitor.webhooks[0].url = \"\" is missing"),
            (
                "kind = 'slack'\nurl = 'http://hunter2/'\nurl_env = 'V'",
                "monitor.webhooks[0].url = \"…\" is given more than once",
            ),
            ("kind = 'slack'\nurl = 'hunter2'", "monitor.webhooks[0].url = \"…\" is no address"),
            ("kind = 'slack'\nurl = 'ftp://hunter2/'", "monitor.webhooks[0].url = \"…\""),
            (
                "kind = 'slack'\nurl_env = 'BEZOAR_NO_SUCH'",
                "monitor.webhooks[0].url_env = \"BEZOAR_NO_SUCH\" is no variable",
            ),
            ("kind = 'slack'\nurl = 'http://u:hunter2@host/'", "user name"),
            ("kind = 'pagerduty'", "monitor.webhooks[0].routing_key = \"\" is missing"),
            ("kind = 'json'\nurl = 'http://h/'\nrouting_key = 'hunter2'", "goes with kind = \"pagerduty\" only"),
            ("kind = 'json'\nurl = 'http://h/'\ntemplate = 'x'", "goes with kind = \"custom\" only"),
            ("kind = 'custom'\nurl = 'http://h/'", "monitor.webhooks[0].template = \"\" is missing"),
            ("kind = 'custom'\nurl = 'http://h/'\ntemplate = '{\"a\": {{title}}}'", "monitor.webhooks[0].template"),
            ("kind = 'custom'\nurl = 'http://h/'\ntemplate = '\"{{titel}}\"'", "{{titel}}"),
            ("kind = 'json'\nurl = 'http://h/'\ntimeout = '0s'", "monitor.webhooks[0].timeout"),
        ] {
            let error = error(webhook);
            assert!(error.contains(says), "{webhook}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
