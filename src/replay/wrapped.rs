use super::letter::{Convention, DeadLetter, Fidelity, Origin};
use crate::dead_letter::{self, DeadLetterContext, Rung, fingerprint};
use crate::policy::Category;
use crate::record::Record;

impl DeadLetter {
    /// Reads a record of a dead-letter topic.
    pub(crate) fn from_record(record: &Record) -> Self {
        let Ok(letter) = dead_letter::DeadLetter::from_record(record) else { return Self::unrecognized(record) };
        let DeadLetterContext { source, source_timestamp, group, attempts, category, error_type, message, .. } =
            letter.context.clone();
        let rest = letter.context;
        Self {
            convention: Convention::Bezoar,
            origin: Origin { timestamp: source_timestamp, ..Origin::from(source) },
            last_hop: None,
            key: letter.key,
            value: letter.value,
            headers: letter.headers,
            fidelity: if letter.rung == Rung::Full { Fidelity::Exact } else { Fidelity::Reduced(letter.rung) },
            category,
            error_type,
            message,
            backtrace: rest.backtrace,
            attempts,
            first_failed_at: rest.first_failed_at,
            last_failed_at: rest.last_failed_at,
            group,
            consumer_id: rest.consumer_id,
            consumer_version: rest.consumer_version,
            fingerprint: rest.fingerprint,
            replay_count: rest.replay_count,
        }
    }

    fn unrecognized(record: &Record) -> Self {
        Self {
            convention: Convention::Unrecognized,
            origin: Origin::default(),
            last_hop: None,
            key: record.key_bytes(),
            value: record.value_bytes(),
            headers: record.owned_headers().collect(),
            fidelity: Fidelity::Exact,
            category: Category::Unknown,
            error_type: String::new(),
            message: String::new(),
            backtrace: None,
            attempts: None,
            first_failed_at: None,
            last_failed_at: None,
            group: None,
            consumer_id: None,
            consumer_version: None,
            fingerprint: fingerprint(Category::Unknown, "", "", None),
            replay_count: 0,
        }
    }
}
