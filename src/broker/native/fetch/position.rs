use crate::broker::batch::{Damage, DamageKind};

/// How often a damaged range is fetched again before it counts as damaged in the log itself.
const RETRIES: u32 = 3;
/// How many offsets without records are passed before the feed is told.
const TELL_EVERY: i64 = 1_000;

/// Where the reading of a partition stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    /// The next offset to be fetched.
    pub(super) offset: i64,
    /// The leader epoch of the batch before it; `None` where none was fetched yet.
    pub(super) epoch: Option<i32>,
    /// Up to where the feed knows.
    told: i64,
    /// The offset of the damage met last, and how often it was met.
    damaged: Option<(i64, u32)>,
}

/// What to do about damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Fetch it again: it may have come about on the way. It was met so often.
    Retry(u32),
    /// Hand the range up to this offset over as it is, and go on behind it.
    Quarantine(i64),
    /// Nothing that we know of lets the reading go on.
    Stop,
}

impl Position {
    pub(super) fn new(offset: i64) -> Self {
        Self { offset, epoch: None, told: offset, damaged: None }
    }

    /// Goes on to `offset`, or back to it; `epoch` is that of the batch before it, where known.
    pub(super) fn move_to(&mut self, offset: i64, epoch: Option<i32>) {
        self.offset = offset;
        self.epoch = epoch;
    }

    /// The feed was told of everything below `offset`.
    pub(super) fn told(&mut self, offset: i64) {
        self.told = self.told.max(offset);
    }

    /// Whether the feed should be told now that everything below `offset` was passed. Offsets without records are told
    /// together: at the end of what can be read or is wanted, where they would be waited for, or when there are many.
    pub(super) fn should_tell(&self, offset: i64, at_end: bool) -> bool {
        let passed = offset - self.told;
        passed >= TELL_EVERY || (at_end && passed > 0)
    }

    /// Judges damage that was met at the position.
    pub(super) fn judge(&mut self, damage: &Damage) -> Remedy {
        let met = match self.damaged {
            Some((offset, met)) if offset == self.offset => met + 1,
            _ => 1,
        };
        self.damaged = Some((self.offset, met));
        match (damage.kind, damage.next_offset) {
            _ if met <= RETRIES => Remedy::Retry(met),
            (DamageKind::Corrupt | DamageKind::TooLarge, Some(next)) if next > self.offset => Remedy::Quarantine(next),
            _ => Remedy::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn damage(kind: DamageKind, offset: i64, next_offset: Option<i64>) -> Damage {
        Damage { kind, offset, next_offset, raw: Bytes::new(), reason: "bad".to_owned() }
    }

    #[test]
    fn damage_is_fetched_three_times_more_and_then_passed_or_not() {
        let cases = [
            (DamageKind::Corrupt, Some(9), Remedy::Quarantine(9)),
            (DamageKind::TooLarge, Some(9), Remedy::Quarantine(9)),
            (DamageKind::Corrupt, None, Remedy::Stop),
            (DamageKind::Corrupt, Some(5), Remedy::Stop),
            (DamageKind::OldFormat, Some(9), Remedy::Stop),
            (DamageKind::UnknownCodec, Some(9), Remedy::Stop),
        ];
        for (kind, next, last) in cases {
            let mut position = Position::new(5);
            let remedies: Vec<_> = (0..4).map(|_| position.judge(&damage(kind, 5, next))).collect();
            assert_eq!(remedies, [Remedy::Retry(1), Remedy::Retry(2), Remedy::Retry(3), last]);
            position.move_to(7, None);
            assert_eq!(position.judge(&damage(kind, 7, next)), Remedy::Retry(1), "counted for each place");
        }
    }

    #[test]
    fn offsets_without_records_are_told_at_the_end_or_when_there_are_many() {
        let mut position = Position::new(5);
        assert!(!position.should_tell(5, true));
        assert!(!position.should_tell(1_004, false));
        assert!(position.should_tell(1_005, false));
        assert!(position.should_tell(6, true));
        position.told(6);
        assert!(!position.should_tell(6, true));
    }
}
