//! Watches dead letters, and tells people: how many wait in each dead-letter topic, how fast they grow, how old they are; which
//! records were given up; which cannot be dead-lettered, or are about to be removed unhandled.
//!
//! Each consumer has a monitor, which tells the log, unless it is [off](MonitorSettings::off). [`Monitor`] is one without a
//! consumer. [`Sink`]s are whom they tell: the [log](LogSink), webhooks with the feature `web`, your own.
//!
//! | [kind](AlertKind) | told when | severity |
//! |---|---|---|
//! | depth | a dead-letter topic holds 100 unresolved dead letters or more, or 1,000 | warning, critical |
//! | letters | records of a category whose policy has `alert` or `page` were given up: those that page and poison at once, others together each minute | warning; critical where the policy pages, and for poison |
//! | held | dead letters could not be published for 30 s | critical |
//! | retention | the start of a log comes near records that are not handled, or has passed them | warning, critical |
//!
//! What lasts is told when it begins, when its severity changes, each hour while it lasts, and when it is over. The repository's
//! `docs/monitor.md` says what to do about each.
//!
//! Of the instances of a group, the one that has partition 0 of a source speaks of the depth of its dead-letter topics; of what
//! else it meets each speaks itself. A consumer whose partitions are assigned by hand speaks of all its topics.

mod actor;
mod alert;
mod clock;
mod condition;
mod contents;
mod depth;
mod gauges;
mod health;
mod holds;
mod margin;
mod message;
mod offsets;
mod outbox;
mod plan;
mod retention;
mod section;
mod settings;
mod sink;
mod standalone;
mod state;
mod survey;
mod text;
#[cfg(feature = "web")]
mod webhook;
mod windows;

use std::time::Duration;

pub(crate) use actor::MonitorActor;
pub use alert::{Alert, AlertKind, AlertState, Severity};
pub use health::{Status, TopicHealth};
pub(crate) use message::MonitorMessage;
pub(crate) use plan::Plan;
pub use section::{MonitorSection, WebhookKind, WebhookSection};
pub use settings::MonitorSettings;
pub use sink::{LogSink, Sink, SinkError};
pub use standalone::Monitor;
#[cfg(feature = "web")]
pub use webhook::Webhook;

/// How long a consumer that stops waits for its monitor: a little longer than sinks have.
pub(crate) const FLUSH_TIMEOUT: Duration = outbox::FLUSH.saturating_add(Duration::from_millis(500));
