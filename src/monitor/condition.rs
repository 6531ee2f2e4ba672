use std::time::Duration;

use super::alert::Severity;

/// A moment: how long the monitor has been running, which never goes back, and what the clock says, in milliseconds since the
/// Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Now {
    pub(super) elapsed: Duration,
    pub(super) wall: i64,
}

/// One trouble that lasts for a while: decides what is told of it. Told are its beginning, each change of its severity, a
/// repetition once in a while, and its end; nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Condition {
    raised: Option<Raised>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Raised {
    severity: Severity,
    since: Now,
    told: Duration,
}

/// What is to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// It lasts.
    Lasts { severity: Severity, previous: Option<Severity>, since: i64 },
    /// It is over.
    Over { previous: Severity, since: i64, lasted: Duration },
}

impl Condition {
    /// Takes in how bad it is now, `None` for not at all.
    pub(super) fn update(&mut self, now: Now, severity: Option<Severity>, repeat: Duration) -> Option<Word> {
        match (&mut self.raised, severity) {
            (None, None) => None,
            (None, Some(severity)) => {
                self.raised = Some(Raised { severity, since: now, told: now.elapsed });
                Some(Word::Lasts { severity, previous: None, since: now.wall })
            }
            (Some(raised), Some(severity)) => {
                let due = now.elapsed.saturating_sub(raised.told) >= repeat;
                if raised.severity == severity && !due {
                    return None;
                }
                raised.told = now.elapsed;
                let previous = Some(std::mem::replace(&mut raised.severity, severity));
                Some(Word::Lasts { severity, previous, since: raised.since.wall })
            }
            (Some(raised), None) => {
                let lasted = now.elapsed.saturating_sub(raised.since.elapsed);
                let (previous, since) = (raised.severity, raised.since.wall);
                self.raised = None;
                Some(Word::Over { previous, since, lasted })
            }
        }
    }

    /// How bad it was when it was last looked at.
    pub(super) fn severity(&self) -> Option<Severity> {
        self.raised.as_ref().map(|raised| raised.severity)
    }
}

#[cfg(test)]
pub(super) fn at(seconds: u64) -> Now {
    Now { elapsed: Duration::from_secs(seconds), wall: 1_000_000 + 1_000 * seconds as i64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REPEAT: Duration = Duration::from_secs(60);

    #[test]
    fn beginning_escalation_repetition_and_end_are_told_once_each() {
        use Severity::{Critical, Warning};
        let mut condition = Condition::default();
        let mut told = Vec::new();
        let levels = [None, Some(Warning), Some(Warning), Some(Critical), Some(Critical), Some(Warning), None, None];
        for (second, level) in (0..).map(|step| step * 10).zip(levels) {
            told.extend(condition.update(at(second), level, REPEAT));
        }
        let since = at(10).wall;
        let lasts = |severity, previous| Word::Lasts { severity, previous, since };
        let over = Word::Over { previous: Warning, since, lasted: Duration::from_secs(50) };
        let expected = [lasts(Warning, None), lasts(Critical, Some(Warning)), lasts(Warning, Some(Critical)), over];
        assert_eq!(told, expected);
        let mut condition = Condition::default();
        let times = (0..=130).filter(|second| condition.update(at(*second), Some(Warning), REPEAT).is_some());
        assert_eq!(times.collect::<Vec<_>>(), [0, 60, 120]);
    }

    proptest! {
        /// Whoever believes the last word knows how it is; and no word comes without a change before its time.
        #[test]
        fn the_last_word_is_true(steps in prop::collection::vec((0u64..40, 0u8..4), 1..60)) {
            let (mut condition, mut second, mut believed, mut told) = (Condition::default(), 0, None, 0);
            for (wait, level) in steps {
                second += wait;
                let level = [None, Some(Severity::Info), Some(Severity::Warning), Some(Severity::Critical)][usize::from(level)];
                let word = condition.update(at(second), level, REPEAT);
                let heard = match word {
                    None => believed,
                    Some(Word::Lasts { severity, previous, .. }) => {
                        prop_assert_eq!(previous, believed);
                        prop_assert!(believed != Some(severity) || second - told >= 60);
                        Some(severity)
                    }
                    Some(Word::Over { previous, .. }) => {
                        prop_assert_eq!(Some(previous), believed);
                        None
                    }
                };
                if word.is_some() {
                    told = second;
                }
                believed = heard;
                prop_assert_eq!(believed, level);
                prop_assert_eq!(condition.severity(), level);
                prop_assert!(level.is_none() || second - told < 60);
            }
        }
    }
}
