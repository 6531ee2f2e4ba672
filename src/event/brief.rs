use super::Event;

/// The most bytes of one text in an event, its mark included.
const LIMIT: usize = 2 * 1024;

/// Cuts the texts of an event that are longer than [`LIMIT`]: a slow reader's events wait in memory.
pub(super) fn shorten(event: &mut Event) {
    event.texts().into_iter().flatten().for_each(cut);
}

impl Event {
    /// The texts in it that may be long: whatever errors say.
    fn texts(&mut self) -> [Option<&mut String>; 2] {
        match self {
            Self::Retrying { error_type, message, .. }
            | Self::Exhausted { error_type, message, .. }
            | Self::DeadLettered { error_type, message, .. } => [Some(error_type), Some(message)],
            Self::Alert { message, .. }
            | Self::Skipped { message, .. }
            | Self::HandlerLost { message, .. }
            | Self::HookFailed { message, .. } => [Some(message), None],
            Self::RestartScheduled { reason, .. }
            | Self::PartitionStopped { reason, .. }
            | Self::Held { reason, .. }
            | Self::DeadLetterReduced { reason, .. }
            | Self::ReadFailing { reason, .. }
            | Self::OffsetReset { reason, .. }
            | Self::CommitFailing { reason }
            | Self::Lost { reason, .. }
            | Self::GroupTrouble { reason }
            | Self::Stopping { reason } => [Some(reason), None],
            Self::Started { .. }
            | Self::Assigned { .. }
            | Self::Revoked { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::Sought { .. }
            | Self::Joined { .. }
            | Self::GroupRecovered
            | Self::TopicMissing { .. }
            | Self::Released { .. }
            | Self::ReadRecovered { .. }
            | Self::Committed { .. }
            | Self::Stopped
            | Self::Missed(_) => [None, None],
        }
    }
}

/// Whether a text needs no cutting.
pub(super) fn is_brief(text: &str) -> bool {
    text.len() <= LIMIT
}

/// Cuts a text that is longer than [`LIMIT`], on a character's boundary, and says at its end how long it was.
fn cut(text: &mut String) {
    if !is_brief(text) {
        let mark = format!("… ({} bytes in all)", text.len());
        let kept = text.floor_char_boundary(LIMIT - mark.len());
        // A new one, since cutting keeps the memory.
        *text = format!("{}{mark}", &text[..kept]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_text_says_how_long_it_was() {
        let mut text = "é".repeat(32 * 1024);
        cut(&mut text);
        assert!(text.ends_with("éé… (65536 bytes in all)") && text.len() > LIMIT - 2, "{text}");
        assert!(text.capacity() <= 2 * LIMIT);
    }

    proptest! {
        #[test]
        fn short_texts_stay_and_long_ones_are_bounded(unit in "\\PC{1,8}", times in 0usize..1_000) {
            let long = unit.repeat(times);
            let mut text = long.clone();
            cut(&mut text);
            prop_assert!(text.len() <= LIMIT);
            prop_assert_eq!(text == long, long.len() <= LIMIT);
        }
    }
}
