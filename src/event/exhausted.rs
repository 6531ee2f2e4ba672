use super::Event;
use super::brief::is_brief;
use crate::policy::Category;
use crate::record::RecordId;

/// What [`Event::Exhausted`] says, borrowed. In a storm there is one for each record, and as a rule nobody reads the
/// stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exhausted<'a> {
    pub(crate) record: &'a RecordId,
    pub(crate) category: Category,
    pub(crate) error_type: &'a str,
    pub(crate) message: &'a str,
    pub(crate) attempts: u32,
    pub(crate) dead_letter_topic: &'a str,
}

impl Exhausted<'_> {
    /// Whether none of its texts is to be cut.
    pub(super) fn is_brief(&self) -> bool {
        is_brief(self.error_type) && is_brief(self.message)
    }

    pub(super) fn to_event(self) -> Event {
        let Self { record, category, error_type, message, attempts, dead_letter_topic } = self;
        Event::Exhausted {
            record: record.clone(),
            category,
            error_type: error_type.to_owned(),
            message: message.to_owned(),
            attempts,
            dead_letter_topic: dead_letter_topic.to_owned(),
        }
    }
}
