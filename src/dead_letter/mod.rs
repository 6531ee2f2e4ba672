//! Dead letters: a record plus its failure context, published to a dead-letter topic.
//!
//! A dead letter carries the original key, value and headers byte for byte, with order, duplicates and nulls, and a
//! [`DeadLetterContext`], which writes it: [`DeadLetterContext::encode`].
//! [`DeadLetter::from_record`](crate::replay::DeadLetter::from_record) reads it back, and those of other frameworks too.
//!
//! # Headers
//! The context goes into headers whose values are UTF-8 text, numbers in decimal, times RFC 3339 in UTC (a timestamp
//! outside the years 0 to 9999: decimal milliseconds since the Unix epoch). What is not known is left out.
//!
//! | header | value |
//! |---|---|
//! | `__dlq.errors.topic`, `.partition`, `.offset` | where the record was read from |
//! | `__dlq.errors.group` | the consumer group |
//! | `__dlq.errors.delivery.count` | attempts made |
//! | `__dlq.errors.message` | the whole chain of errors, at most 1,000 characters |
//! | `bezoar.id` | short id for display, see [`short_id`] |
//! | `bezoar.category` | the failure's [`Category`](crate::policy::Category) |
//! | `bezoar.error.type` | the error's type |
//! | `bezoar.error.backtrace` | the chain, one cause per line, and a backtrace; at most 5,000 characters |
//! | `bezoar.source.timestamp` | the record's own timestamp |
//! | `bezoar.source.topic.id` | the id of the topic, which tells it from a later one of the same name |
//! | `bezoar.first-failed-at`, `bezoar.last-failed-at` | when the first and last attempt failed |
//! | `bezoar.consumer.id`, `bezoar.consumer.version` | who gave up |
//! | `bezoar.fingerprint` | the same for all occurrences of one fault, see [`fingerprint`] |
//! | `bezoar.replay.count` | how often the record was replayed |
//! | `bezoar.envelope` | `1` if the value is the JSON envelope |
//! | `bezoar.truncated` | what was left out, see [`Rung`] |
//!
//! The first six are those of KIP-1191. These names are reserved: a record that comes with one has it replaced, so that
//! headers do not grow from hop to hop. All other headers are kept, those of other frameworks too.
//!
//! # Profiles
//! [`Profile::Spring`] and [`Profile::Connect`] add the headers of those frameworks, [`Profile::Plain`] adds `error` (the
//! error's type) and `source` (`topic/partition/offset`), all with the same rule of replacement: names of a profile that is
//! written are reserved too. [`Profile::Envelope`] makes the value a JSON object that holds the readable record, the context
//! and the exact bytes. They can be combined. The repository's `docs/dead-letter-formats.md` has all of it in detail.

mod actor;
pub(crate) mod backtrace;
mod context;
mod encode;
mod envelope;
mod fingerprint;
mod format;
mod message;
pub mod names;
mod profiles;
mod redaction;
#[cfg(test)]
mod round_trip_tests;
mod run;
mod rung;
mod send;
#[cfg(test)]
mod test_support;
mod text;
pub(crate) mod time;
mod topics;
mod values;

pub(crate) use actor::DeadLetterActor;
pub use context::{DeadLetterContext, short_id};
pub(crate) use envelope::{Parts, read_exact};
pub(crate) use fingerprint::Fingerprints;
pub use fingerprint::fingerprint;
pub use format::{DeadLetterFormat, Profile};
pub(crate) use message::{DeadLetterMessage, Job, Jobs, Target};
pub use redaction::{Redaction, Redactor};
pub use rung::Rung;
pub(crate) use send::Publisher;
pub(crate) use topics::TopicKeeper;
pub use topics::{DeadLetterTopicError, TopicCreation};
