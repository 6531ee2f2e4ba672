use std::time::Duration;

use super::message::PublishVerdict;
use crate::broker::{BrokerError, ErrorCode};
use crate::dead_letter::Rung;
use crate::policy::Backoff;

/// Waits between attempts to publish: 100 ms, doubled up to 30 s.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(100), 2.0, Duration::from_secs(30));

/// Decides what is done about dead letters that could not be published: a refusal for what they hold walks down the
/// ladder, one record at a time; anything else (no topic, no right, no broker) is tried again with backoff, for ever,
/// since giving up would lose the record.
pub(super) fn judge(error: &BrokerError, batch: usize, rung: Rung, failures: u32, random: f64) -> PublishVerdict {
    let retry = PublishVerdict::Retry(BACKOFF.delay(failures, random));
    if !refused_for_content(error) {
        return retry;
    }
    if batch > 1 {
        return PublishVerdict::Split;
    }
    rung.next().map_or(retry, PublishVerdict::Reduce)
}

/// Whether the records themselves are what the broker or the adapter refuses.
fn refused_for_content(error: &BrokerError) -> bool {
    // RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP, POLICY_VIOLATION, INVALID_RECORD; a request above our own limit has the
    // first of them, too.
    let refused = |code: ErrorCode| code == ErrorCode::MESSAGE_TOO_LARGE || matches!(code.0, 18 | 32 | 44 | 87);
    matches!(error, BrokerError::Unwritable { .. }) || error.code().is_some_and(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(code: i16) -> BrokerError {
        BrokerError::Response { doing: "producing".into(), code: ErrorCode(code), message: None }
    }

    #[test]
    fn a_refused_batch_is_split_and_a_refused_record_reduced_rung_by_rung() {
        assert_eq!(judge(&response(10), 7, Rung::Full, 1, 0.0), PublishVerdict::Split);
        let mut rung = Rung::Full;
        let mut steps = 0;
        while let PublishVerdict::Reduce(next) = judge(&response(10), 1, rung, 1, 0.0) {
            rung = next;
            steps += 1;
        }
        assert_eq!((rung, steps), (Rung::ContextOnly, 4));
    }

    #[test]
    fn what_the_client_cannot_write_is_reduced_and_what_the_broker_cannot_do_is_waited_for() {
        let doing = || "producing".to_owned();
        let unwritable = BrokerError::Unwritable { doing: doing(), remedy: String::new() };
        let too_large = BrokerError::RequestTooLarge { doing: doing(), bytes: 2, limit: 1 };
        for error in [unwritable, too_large] {
            assert_eq!(judge(&error, 2, Rung::Full, 1, 0.0), PublishVerdict::Split);
            assert!(matches!(judge(&error, 1, Rung::Full, 1, 0.0), PublishVerdict::Reduce(_)));
        }
        let unsupported = BrokerError::Unsupported { doing: doing(), remedy: String::new() };
        assert!(matches!(judge(&unsupported, 2, Rung::Full, 1, 0.0), PublishVerdict::Retry(_)));
    }

    #[test]
    fn an_unavailable_topic_is_retried_with_growing_capped_waits() {
        for code in [3, 6, 7, 19, 29] {
            for (failures, wait) in [(1, 100), (2, 200), (3, 400), (30, 30_000)] {
                let verdict = judge(&response(code), 3, Rung::Full, failures, 0.0);
                assert_eq!(verdict, PublishVerdict::Retry(Duration::from_millis(wait)));
            }
        }
    }
}
