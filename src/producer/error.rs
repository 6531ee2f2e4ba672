use crate::broker::BrokerError;

/// Why a record could not be produced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProducerError {
    /// The topic does not exist.
    #[error("producing to topic {topic:?}: the topic does not exist; create it first")]
    UnknownTopic {
        /// The topic.
        topic: String,
    },
    /// The partition asked for does not exist.
    #[error("producing to topic {topic:?}: there is no partition {partition}, it has {partitions}")]
    UnknownPartition {
        /// The topic.
        topic: String,
        /// The partition asked for.
        partition: i32,
        /// How many partitions the topic has.
        partitions: i32,
    },
    /// The broker did not take the record.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// The producer was closed before the record was acknowledged.
    #[error("the producer was closed before the record was acknowledged")]
    Closed,
}

impl ProducerError {
    /// Whether sending again may succeed without anybody changing anything.
    pub fn is_retriable(&self) -> bool {
        matches!(self, Self::Broker(error) if error.is_retriable())
    }
}
