use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::sink::{LogSink, Sink};
use crate::isolation::guard::guarded;
use crate::policy::ConfigError;
use crate::policy::duration::text;

/// What a monitor watches for, and whom it tells.
///
/// ```
/// use std::time::Duration;
/// use bezoar::monitor::MonitorSettings;
///
/// let settings = MonitorSettings::new().thresholds(10, 500).repeat(Duration::from_secs(4 * 3600)).tag("environment", "production");
/// let builder = bezoar::Consumer::builder("fulfilment").monitor(settings);
/// let silent = bezoar::Consumer::builder("fulfilment").monitor(MonitorSettings::off());
/// ```
#[derive(Clone)]
pub struct MonitorSettings {
    pub(crate) enabled: bool,
    pub(super) limits: Limits,
    pub(super) log: bool,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) sinks: Vec<Arc<dyn Sink>>,
}

/// The numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) interval: Duration,
    pub(super) window: Duration,
    pub(super) warning: u64,
    pub(super) critical: u64,
    pub(super) repeat: Duration,
    pub(super) group_interval: Duration,
    pub(super) held_after: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(30),
            window: Duration::from_secs(300),
            warning: 100,
            critical: 1_000,
            repeat: Duration::from_secs(3_600),
            group_interval: Duration::from_secs(60),
            held_after: Duration::from_secs(30),
        }
    }
}

impl Default for MonitorSettings {
    fn default() -> Self {
        Self::new()
    }
}

impl MonitorSettings {
    /// The defaults, with the log as the only sink.
    pub fn new() -> Self {
        Self { enabled: true, limits: Limits::default(), log: true, tags: BTreeMap::new(), sinks: Vec::new() }
    }

    /// No monitor: nothing is looked at and nobody is told.
    pub fn off() -> Self {
        Self { enabled: false, ..Self::new() }
    }

    /// How often the broker is asked for the depths. Default 30 s.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.limits.interval = interval;
        self
    }

    /// Over which time growth is taken. Default 5 min; at least the interval.
    pub fn window(mut self, window: Duration) -> Self {
        self.limits.window = window;
        self
    }

    /// From how many unresolved dead letters in a topic on there is a warning, and from how many on it is critical. Default 100
    /// and 1,000. Each is over a tenth below its threshold.
    pub fn thresholds(mut self, warning: u64, critical: u64) -> Self {
        (self.limits.warning, self.limits.critical) = (warning, critical);
        self
    }

    /// How often an alert is told again while its trouble lasts. Default 1 h.
    pub fn repeat(mut self, repeat: Duration) -> Self {
        self.limits.repeat = repeat;
        self
    }

    /// For how long records that were given up are gathered before they are told of together; those of a category that pages are
    /// told of at once, and those that follow after this time. Default 1 min.
    pub fn group_interval(mut self, interval: Duration) -> Self {
        self.limits.group_interval = interval;
        self
    }

    /// How long dead letters must have waited to be published before that is an alert. Default 30 s: as long as brokers take to
    /// restart.
    pub fn held_after(mut self, after: Duration) -> Self {
        self.limits.held_after = after;
        self
    }

    /// Whether alerts go to the log ([`LogSink`]). Default yes.
    pub fn log(mut self, log: bool) -> Self {
        self.log = log;
        self
    }

    /// A tag of all alerts, which their keys hold too: for receivers that hear of several environments.
    pub fn tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(name.into(), value.into());
        self
    }

    /// Tells this one as well. Each sink has a queue and a task of its own.
    pub fn sink(mut self, sink: impl Sink) -> Self {
        self.sinks.push(Arc::new(sink));
        self
    }

    /// Checks everything, sinks included.
    ///
    /// # Errors
    /// Names the setting as a configuration file writes it, such as `monitor.critical`.
    pub fn check(&self) -> Result<(), ConfigError> {
        let limits = &self.limits;
        let day = Duration::from_secs(24 * 3_600);
        let durations = [
            ("interval", limits.interval, Duration::from_millis(1), day, "30s"),
            ("window", limits.window, limits.interval, 7 * day, "5m"),
            ("repeat", limits.repeat, limits.interval, 30 * day, "1h"),
            ("group_interval", limits.group_interval, Duration::from_millis(1), day, "1m"),
            ("held_after", limits.held_after, Duration::ZERO, day, "30s"),
        ];
        for (name, value, least, most, usual) in durations {
            if value < least || value > most {
                let remedy = format!("set it between {} and {}, such as {usual}", text(least), text(most));
                return Err(ConfigError::new(format!("monitor.{name}"), text(value), "is out of range", remedy));
            }
        }
        if limits.warning == 0 {
            let remedy = "set it to 1 or more, or switch the monitor off: enabled = false";
            return Err(ConfigError::new("monitor.warning", 0, "is reached by an empty topic", remedy));
        }
        if limits.critical <= limits.warning {
            let problem = format!("is not above monitor.warning ({})", limits.warning);
            return Err(ConfigError::new("monitor.critical", limits.critical, problem, "set it above that"));
        }
        if let Some(name) = self.tags.keys().find(|name| !is_label(name)) {
            let remedy = "use letters, digits and underscores, and no digit first";
            return Err(ConfigError::new("monitor.tags", name, "is no name for a tag", remedy));
        }
        self.sinks.iter().try_for_each(|sink| sink.check())
    }

    /// All sinks, the log among them.
    pub(super) fn all_sinks(&self) -> Vec<Arc<dyn Sink>> {
        let log = self.log.then(|| Arc::new(LogSink) as Arc<dyn Sink>);
        log.into_iter().chain(self.sinks.iter().cloned()).collect()
    }
}

/// Whether a text can be a label of Prometheus and Alertmanager, which tags become.
fn is_label(name: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    name.starts_with(letter) && name.chars().all(|it| letter(it) || it.is_ascii_digit())
}

/// What a sink calls itself, whatever its code does.
pub(super) fn name(sink: &dyn Sink) -> String {
    guarded(|| sink.name()).unwrap_or_else(|_| "a sink whose name panics".to_owned())
}

impl fmt::Debug for MonitorSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sinks: Vec<String> = self.all_sinks().iter().map(|sink| name(&**sink)).collect();
        f.debug_struct("MonitorSettings")
            .field("enabled", &self.enabled)
            .field("limits", &self.limits)
            .field("tags", &self.tags)
            .field("sinks", &sinks)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_named() {
        let new = MonitorSettings::new;
        assert_eq!(new().check(), Ok(()));
        assert_eq!(MonitorSettings::off().check(), Ok(()));
        let minute = Duration::from_secs(60);
        for (settings, setting) in [
            (new().interval(Duration::ZERO), "monitor.interval"),
            (new().interval(minute).window(minute / 2), "monitor.window"),
            (new().repeat(Duration::from_secs(1)), "monitor.repeat"),
            (new().group_interval(Duration::ZERO), "monitor.group_interval"),
            (new().held_after(minute * 60 * 48), "monitor.held_after"),
            (new().thresholds(0, 5), "monitor.warning"),
            (new().thresholds(5, 5), "monitor.critical"),
            (new().tag("no label", "x"), "monitor.tags"),
            (new().tag("1st", "x"), "monitor.tags"),
        ] {
            let error = settings.check().unwrap_err();
            assert_eq!(error.setting, setting, "{error}");
        }
        let error = new().thresholds(100, 50).check().unwrap_err().to_string();
        assert_eq!(error, "monitor.critical = 50 is not above monitor.warning (100): set it above that");
    }
}
