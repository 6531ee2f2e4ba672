use tokio::time::Instant;

use super::{BrokerLoop, Held};
use crate::broker::native::fetch::backoff;
use crate::broker::native::fetch::message::Then;
use crate::broker::{BrokerError, SourceProblem};
use crate::record::TopicPartition;

/// How many answers in a row must be too large before a partition is given up.
const TRIES: u32 = 5;

impl BrokerLoop {
    /// A fetch came to nothing. Where its answer was larger than any may be, one batch is to blame, since a broker sends the
    /// first one whole: it must hold up no partition but its own, so each is asked for alone until it is found.
    pub(super) fn not_fetched(&mut self, error: &BrokerError) {
        if !self.connection.as_ref().is_some_and(|connection| connection.met_too_large()) {
            return self.give_all_back(error);
        }
        self.disconnect(&error.to_string());
        self.session.failed();
        let asked =
            self.readings.iter_mut().filter_map(|(partition, held)| held.asked.take().map(|_| partition.clone()));
        let asked: Vec<_> = asked.collect();
        match &asked[..] {
            [only] => self.found(only, error),
            _ => self.suspects = asked,
        }
    }

    /// A partition's answer is too large, by what it claims, though it was asked for alone. One answer may have been garbled.
    fn found(&mut self, partition: &TopicPartition, error: &BrokerError) {
        let Some(held) = self.readings.get_mut(partition) else { return };
        let reading = &mut held.reading;
        reading.too_large += 1;
        if reading.too_large < TRIES {
            reading.failures = reading.failures.saturating_add(1);
            let due = Instant::now() + backoff::pause(reading.failures, rand::random());
            reading.tell_failure(error.clone());
            return self.give_back(partition, Then::Again { due, stale: false });
        }
        let (doing, limit) = (reading.doing(), self.cluster.settings.max_response_bytes);
        let remedy = format!(
            "the record batch there makes an answer of more than {limit} bytes: raise max_response_bytes above the topic's \
             max.message.bytes, or set the group's offset to behind it"
        );
        reading.stop(SourceProblem::Failed(BrokerError::Unsupported { doing, remedy }));
        self.give_back(partition, Then::End);
    }

    /// Leaves only the next suspect in a request, if there is one; those that are not wanted now are no longer suspected.
    /// Returns whether there is.
    pub(super) fn only_suspect(suspects: &mut Vec<TopicPartition>, wanted: &mut Vec<(&Held, usize)>) -> bool {
        while let Some(suspect) = suspects.last() {
            if let Some(place) = wanted.iter().position(|(held, _)| held.reading.partition == *suspect) {
                wanted.swap(0, place);
                wanted.truncate(1);
                return true;
            }
            suspects.pop();
        }
        false
    }
}
