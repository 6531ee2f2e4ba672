use crate::broker::ErrorCode;

/// What the error code of one partition in an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Good,
    /// It may be read later, perhaps from another broker: metadata is to be asked for again.
    Moved,
    /// It may be read later from the same broker.
    Later,
    /// An operator has to grant the right first.
    Denied,
    /// The offset is not in the log.
    OutOfRange,
    /// The broker cannot send it to a client of this version.
    Unsupported,
}

/// Sorts an error code. One that is not known may pass.
pub(super) fn judge(code: ErrorCode) -> Verdict {
    match code.0 {
        0 => Verdict::Good,
        1 => Verdict::OutOfRange,
        // CORRUPT_MESSAGE: the broker could not read its own log.
        2 => Verdict::Later,
        29 => Verdict::Denied,
        // UNSUPPORTED_COMPRESSION_TYPE
        76 => Verdict::Unsupported,
        _ => Verdict::Moved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_leaders_and_topics_asks_for_metadata() {
        // From UNKNOWN_TOPIC_OR_PARTITION to INCONSISTENT_TOPIC_ID; and a code of the future.
        for code in [3, 5, 6, 56, 74, 75, 78, 100, 103, 9_999] {
            assert_eq!(judge(ErrorCode(code)), Verdict::Moved, "{code}");
        }
        assert_eq!(judge(ErrorCode::OFFSET_OUT_OF_RANGE), Verdict::OutOfRange);
    }
}
