use std::fmt;

use bezoar::record::RecordId;

/// What an effect is done once for. As text it goes into the column `key`; keys of different kinds never look the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// A record: the place in its topic's log where it, or the record that it was replayed from, lies.
    Record(RecordId),
    /// An order, by the id that whoever sends orders gives to each.
    Order(String),
}

/// Which key a payment gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyBy {
    /// The record that a delivery stems from. Fits any topic, and tells nothing of an order that was sent twice.
    Origin,
    /// The order. Fits where the sender gives ids that are unique, and needs nothing but the message.
    Order,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The topic's id, not its name: a topic that is deleted and created anew begins at offset 0 again.
            Self::Record(RecordId { topic_id: Some(id), partition, offset }) => {
                write!(f, "record {id}/{}/{offset}", partition.partition())
            }
            // Brokers before 2.8 have no ids.
            Self::Record(record) => write!(f, "record by name {record}"),
            Self::Order(id) => write!(f, "order {id}"),
        }
    }
}
