use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// Something that people should hear of, or that it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alert {
    /// The same for all that is told of one trouble: what receivers recognise a repetition, an escalation and the end by. At
    /// most 255 bytes.
    pub key: Arc<str>,
    /// What it is about.
    pub kind: AlertKind,
    /// Whether the trouble lasts, or is over.
    pub state: AlertState,
    /// How bad it is; [`Severity::Info`] for one that is over.
    pub severity: Severity,
    /// How bad it was when it was last told of; `None` for the first time.
    pub previous: Option<Severity>,
    /// Whether somebody should be woken.
    pub page: bool,
    /// One line, with severity and topic.
    pub title: String,
    /// What happened, with numbers.
    pub message: String,
    /// What it can be sorted by: `topic` always; `category`, `group`, `partition` where they are known; what
    /// [`MonitorSettings::tag`](super::MonitorSettings::tag) adds.
    pub tags: BTreeMap<String, String>,
    /// Who tells: the consumer's id.
    pub source: Arc<str>,
    /// Since when the trouble lasts, in milliseconds since the Unix epoch.
    pub since: i64,
    /// When this was told, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Until when it is to be believed, in milliseconds since the Unix epoch: while the trouble lasts, the next word comes before.
    pub until: i64,
}

impl Alert {
    /// Whether the trouble is over.
    pub fn is_resolved(&self) -> bool {
        self.state == AlertState::Resolved
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// To be known.
    Info,
    /// To be looked at.
    Warning,
    /// To be looked at now.
    Critical,
}

impl Severity {
    /// `info`, `warning` or `critical`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }

    /// As a title begins.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Critical => "Critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Whether a trouble lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AlertState {
    /// It lasts, or has happened.
    Firing,
    /// It is over.
    Resolved,
}

impl AlertState {
    /// `firing` or `resolved`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Firing => "firing",
            Self::Resolved => "resolved",
        }
    }
}

/// What an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AlertKind {
    /// A dead-letter topic holds many unresolved dead letters.
    Depth,
    /// Records were given up, of a category whose policy asks for an alert. Nobody can tell when that is over: there is no
    /// recovery notice.
    Letters,
    /// Dead letters cannot be published, and their records wait.
    Held,
    /// Records are about to be removed from the log before they are handled, or were.
    Retention,
}

impl AlertKind {
    /// `depth`, `letters`, `held` or `retention`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Letters => "letters",
            Self::Held => "held",
            Self::Retention => "retention",
        }
    }
}
