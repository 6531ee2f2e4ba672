use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::broker::security::Secret;
use crate::cli::exit::CliError;
use crate::cli::number;
use crate::cli::output::time::parse_duration;
use crate::cli::select::TopicArgs;
use crate::monitor::{MonitorSettings, Webhook};

/// `bezoar dlq watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Alerts are told when they begin, when their severity changes, once in a while as long as they last, and when they are over. \
Topics that are made later are not watched: start it anew then. With --once nobody is told: the exit code is 5 where a topic \
is not healthy.

The address of a webhook is a secret as a rule: better set BEZOAR_WEBHOOK than use the flag.

Examples:
  bezoar dlq watch --source orders
  bezoar dlq watch '*.dlq*' --once --warning 1
  BEZOAR_WEBHOOK=https://hooks.example/… bezoar dlq watch --source orders --template slack
  BEZOAR_ROUTING_KEY=… bezoar dlq watch --source orders --template pagerduty --critical 500")]
pub(in crate::cli) struct WatchArgs {
    #[command(flatten)]
    pub(super) topics: TopicArgs,

    /// Look once, show the result, and end
    #[arg(long)]
    pub(super) once: bool,

    /// From so many unresolved dead letters in a topic on it is a warning
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = number::whole::<u64>)]
    warning: u64,

    /// From so many on it is critical
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, value_parser = number::whole::<u64>)]
    critical: u64,

    /// How often to look
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    interval: Duration,

    /// Over which time growth is taken
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    window: Duration,

    /// How often an alert is told again while it lasts
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    repeat: Duration,

    /// A tag of all alerts; may be given more than once
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_tag)]
    tag: Vec<(String, String)>,

    /// Post alerts to this address
    #[arg(long, value_name = "URL", env = "BEZOAR_WEBHOOK", hide_env_values = true)]
    webhook: Option<String>,

    /// What is posted
    #[arg(long, value_enum, value_name = "TEMPLATE", default_value_t)]
    template: Template,

    /// A JSON text of your own to post, with placeholders such as {{title}} (docs/monitor.md lists them)
    #[arg(long, value_name = "FILE", conflicts_with = "template")]
    template_file: Option<PathBuf>,

    /// The file that holds the routing key for PagerDuty [default: the variable BEZOAR_ROUTING_KEY]
    #[arg(long, value_name = "FILE")]
    routing_key_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Template {
    /// Plain JSON
    #[default]
    Json,
    /// An incoming webhook of Slack, or of what understands the same
    Slack,
    /// PagerDuty's Events API v2
    Pagerduty,
    /// Alertmanager's API v2
    Alertmanager,
}

/// Holds the routing key where no file is named.
const ROUTING_KEY: &str = "BEZOAR_ROUTING_KEY";

fn parse_tag(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as environment=production")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl WatchArgs {
    /// The settings of the monitor, checked.
    pub(super) fn settings(&self) -> Result<MonitorSettings, CliError> {
        let window = self.window.max(self.interval);
        let mut settings = MonitorSettings::new().thresholds(self.warning, self.critical).interval(self.interval);
        settings = settings.window(window).repeat(self.repeat.max(self.interval)).log(false);
        for (name, value) in &self.tag {
            settings = settings.tag(name, value);
        }
        if let Some(webhook) = self.webhook()? {
            settings = settings.sink(webhook);
        }
        settings.check()?;
        Ok(settings)
    }

    fn webhook(&self) -> Result<Option<Webhook>, CliError> {
        if self.template == Template::Pagerduty {
            let key = match &self.routing_key_file {
                Some(file) => Secret::file(file),
                None if std::env::var_os(ROUTING_KEY).is_some() => Secret::env(ROUTING_KEY),
                None => {
                    return Err(CliError::usage(
                        "PagerDuty needs the integration key of a service: set BEZOAR_ROUTING_KEY, or use --routing-key-file FILE",
                    ));
                }
            };
            let webhook = Webhook::pagerduty(key);
            return Ok(Some(match &self.webhook {
                Some(url) => webhook.url(url.as_str()),
                None => webhook,
            }));
        }
        if self.routing_key_file.is_some() {
            return Err(CliError::usage("--routing-key-file goes with --template pagerduty only: leave it out"));
        }
        let Some(url) = self.webhook.as_deref() else {
            if self.template != Template::Json || self.template_file.is_some() {
                return Err(CliError::usage("a template needs an address: use --webhook URL, or set BEZOAR_WEBHOOK"));
            }
            return Ok(None);
        };
        if let Some(file) = &self.template_file {
            let text = std::fs::read_to_string(file).map_err(|error| {
                CliError::usage(format!(
                    "the file {file:?} (--template-file) cannot be read ({error}): name a text file"
                ))
            })?;
            return Ok(Some(Webhook::custom(url, text)));
        }
        Ok(Some(match self.template {
            Template::Slack => Webhook::slack(url),
            Template::Alertmanager => Webhook::alertmanager(url),
            Template::Json | Template::Pagerduty => Webhook::json(url),
        }))
    }
}
