use kafka_protocol::ResponseError;

use crate::broker::BrokerError;

/// What became of a batch that was sent.
#[derive(Debug, Clone)]
pub(super) enum Fate {
    /// It is in the log, at this offset; -1 where the broker does not remember it.
    Appended(i64),
    /// It is not in the log; sending it again may succeed.
    NotYet(BrokerError),
    /// It may be in the log; sending it again tells.
    Unclear(BrokerError),
    /// Its number does not follow the last that the broker knows, or its producer is unknown or fenced.
    Misnumbered {
        /// What the broker said.
        error: BrokerError,
        /// Whether the producer id is of no more use.
        id_is_spent: bool,
    },
    /// It is not in the log, because of what a record holds or how large it is.
    BadRecords(BrokerError),
    /// Sending it again would not help.
    Refused(BrokerError),
}

impl Fate {
    /// The fate that an error code of a partition's answer tells.
    pub(super) fn of(code: i16, base_offset: i64, error: impl FnOnce() -> BrokerError) -> Self {
        use ResponseError as E;
        let Some(known) = ResponseError::try_from_code(code) else {
            return if code == 0 { Self::Appended(base_offset) } else { Self::Refused(error()) };
        };
        match known {
            // An older batch than those that the broker remembers the offsets of.
            E::DuplicateSequenceNumber => Self::Appended(-1),
            E::OutOfOrderSequenceNumber | E::UnknownProducerId => {
                Self::Misnumbered { error: error(), id_is_spent: false }
            }
            E::InvalidProducerEpoch | E::ProducerFenced | E::InvalidProducerIdMapping => {
                Self::Misnumbered { error: error(), id_is_spent: true }
            }
            E::RequestTimedOut | E::NotEnoughReplicasAfterAppend => Self::Unclear(error()),
            E::MessageTooLarge
            | E::RecordListTooLarge
            | E::InvalidRecord
            | E::InvalidTimestamp
            | E::UnsupportedForMessageFormat => Self::BadRecords(error()),
            known if known.is_retriable() => Self::NotYet(error()),
            _ => Self::Refused(error()),
        }
    }
}

/// Whether an error says that the partition's leader is to be looked for again.
pub(super) fn is_about_leader(error: &BrokerError) -> bool {
    use ResponseError as E;
    match error {
        BrokerError::Response { code, .. } => matches!(
            ResponseError::try_from_code(code.0),
            Some(
                E::UnknownTopicOrPartition
                    | E::LeaderNotAvailable
                    | E::NotLeaderOrFollower
                    | E::ReplicaNotAvailable
                    | E::BrokerNotAvailable
                    | E::NetworkException
                    | E::KafkaStorageError
                    | E::ListenerNotFound
                    | E::FencedLeaderEpoch
                    | E::UnknownLeaderEpoch
                    | E::UnknownTopicId
            )
        ),
        BrokerError::Unsupported { .. } | BrokerError::Closed { .. } => false,
        _ => true,
    }
}
