use std::str::FromStr;

use uuid::Uuid;

use super::letter::DeadLetter;
use super::reader::is_known;
use crate::dead_letter::names;
use crate::policy::Category;
use crate::record::{HeaderRef, Record};

/// What filters, groups and numbers look at in a dead letter, borrowed from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts<'a> {
    pub(super) category: Category,
    pub(super) error_type: &'a str,
    pub(super) fingerprint: &'a str,
    pub(super) message: &'a str,
    /// Where the record came from first.
    pub(super) topic: Option<&'a str>,
    pub(super) topic_id: Option<Uuid>,
    pub(super) partition: Option<i32>,
    pub(super) offset: Option<i64>,
    pub(super) key: Option<&'a [u8]>,
    pub(super) group: Option<&'a str>,
    pub(super) replay_count: u32,
}

impl<'a> Facts<'a> {
    /// Of a dead letter that was read.
    pub(super) fn of(letter: &'a DeadLetter) -> Self {
        Self {
            category: letter.category,
            error_type: &letter.error_type,
            fingerprint: &letter.fingerprint,
            message: &letter.message,
            topic: letter.origin.topic.as_deref(),
            topic_id: letter.origin.topic_id,
            partition: letter.origin.partition,
            offset: letter.origin.offset,
            key: letter.key.as_deref(),
            group: letter.group.as_deref(),
            replay_count: letter.replay_count,
        }
    }

    /// The same of a record as we write it, without reading all of it: most are such. `None` for all others, and where
    /// anything is odd.
    pub(super) fn glance(record: &'a Record) -> Option<Self> {
        let mut seen = Seen::default();
        for header in record.headers() {
            seen.note(header)?;
        }
        Some(Self {
            category: seen.category?.parse().ok()?,
            error_type: seen.error_type?,
            fingerprint: seen.fingerprint?,
            message: seen.message?,
            topic: Some(seen.topic.filter(|topic| !topic.is_empty())?),
            topic_id: seen.topic_id.and_then(|id| id.parse().ok()),
            partition: Some(number(seen.partition?)?),
            offset: Some(number(seen.offset?)?),
            key: record.key(),
            group: seen.group,
            replay_count: number(seen.replay_count?)?,
        })
    }
}

/// A number as we write it: digits alone.
fn number<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Headers of ours.
#[derive(Default)]
struct Seen<'a> {
    category: Option<&'a str>,
    error_type: Option<&'a str>,
    fingerprint: Option<&'a str>,
    message: Option<&'a str>,
    topic: Option<&'a str>,
    topic_id: Option<&'a str>,
    partition: Option<&'a str>,
    offset: Option<&'a str>,
    group: Option<&'a str>,
    replay_count: Option<&'a str>,
}

impl<'a> Seen<'a> {
    /// Takes a header; `None` if because of it the whole record must be read: it is twice there, no text, of an envelope, or of
    /// another convention, which may know an earlier hop.
    fn note(&mut self, header: HeaderRef<'a>) -> Option<()> {
        if !header.name.starts_with(b"bezoar.") && !header.name.starts_with(b"__dlq.errors.") {
            return (!is_known(header.name)).then_some(());
        }
        let place = match std::str::from_utf8(header.name).ok()? {
            names::CATEGORY => &mut self.category,
            names::ERROR_TYPE => &mut self.error_type,
            names::FINGERPRINT => &mut self.fingerprint,
            names::MESSAGE => &mut self.message,
            names::TOPIC => &mut self.topic,
            names::SOURCE_TOPIC_ID => &mut self.topic_id,
            names::PARTITION => &mut self.partition,
            names::OFFSET => &mut self.offset,
            names::GROUP => &mut self.group,
            names::REPLAY_COUNT => &mut self.replay_count,
            names::ENVELOPE => return None,
            _ => return Some(()),
        };
        let text = std::str::from_utf8(header.value?).ok()?;
        place.replace(text).is_none().then_some(())
    }
}
