use std::collections::VecDeque;
use std::time::Duration;

use super::alert::Severity;
use super::condition::{Condition, Now, Word};
use super::text::{grouped, lasting};
use crate::record::TopicPartition;

/// Where a partition that the consumer reads stands in its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) partition: TopicPartition,
    /// Everything below is settled.
    pub(super) watermark: i64,
    /// The first offset still in the log.
    pub(super) start: i64,
    /// The offset after the last record.
    pub(super) end: i64,
    /// How long the topic keeps records, and the first offset whose record has [`OLD`] of that time still before it or is younger;
    /// `None` where the topic does not remove by time, or does not tell.
    pub(super) retention: Option<(Duration, i64)>,
}

impl Position {
    /// Whether records were removed that were not settled.
    pub(super) fn is_lost(&self) -> bool {
        self.start > self.watermark
    }
}

/// How much of a topic's retention a record that is not handled may be old before that is told, in per cent.
pub(super) const OLD: u32 = 80;

/// How long a step of the log's start is remembered.
const MEMORY: Duration = Duration::from_secs(24 * 3_600);

/// Watches how near the start of a partition's log comes to the records that are not handled yet.
///
/// Brokers remove whole segments, so that the start moves in steps. Another step like the largest of the last day must not pass
/// the watermark: that is critical. Where the topic removes by time, it is a warning that the oldest record which is not handled
/// has spent [`OLD`] per cent of it.
#[derive(Debug, Default)]
pub(super) struct Margin {
    start: Option<i64>,
    steps: VecDeque<(Duration, i64)>,
    condition: Condition,
}

/// What is to be told of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) word: Word,
    pub(super) title: String,
    pub(super) message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Danger {
    /// Records were removed that were not handled.
    Lost,
    /// The next step like this one removes some.
    Step(i64),
    /// The oldest has spent most of its time.
    Old(Duration),
}

impl Margin {
    /// Takes in where the partition stands.
    pub(super) fn look(&mut self, now: Now, position: &Position, repeat: Duration) -> Option<Told> {
        let before = self.start.replace(position.start).unwrap_or(position.start);
        if position.start > before {
            self.steps.push_back((now.elapsed, position.start.saturating_sub(before)));
        } else if position.start < before {
            // A start goes back only where the topic was created anew: the old one's steps say nothing of it.
            self.steps.clear();
        }
        while self.steps.front().is_some_and(|(at, _)| now.elapsed.saturating_sub(*at) > MEMORY) {
            self.steps.pop_front();
        }
        let danger = self.danger(position);
        let severity = danger.as_ref().map(|danger| match danger {
            Danger::Lost | Danger::Step(_) => Severity::Critical,
            Danger::Old(_) => Severity::Warning,
        });
        let word = self.condition.update(now, severity, repeat)?;
        let (title, message) = words(position, danger, &word);
        Some(Told { word, title, message })
    }

    fn danger(&self, position: &Position) -> Option<Danger> {
        let Position { watermark, start, end, retention, .. } = position;
        if position.is_lost() {
            return Some(Danger::Lost);
        }
        if watermark >= end {
            return None;
        }
        let step = self.steps.iter().map(|(_, step)| *step).max();
        // Once told, it takes two steps to be safe again.
        let factor = if self.condition.severity() == Some(Severity::Critical) { 2 } else { 1 };
        match (step, retention) {
            (Some(step), _) if watermark.saturating_sub(*start) < step.saturating_mul(factor) => {
                Some(Danger::Step(step))
            }
            (_, Some((retention, young))) if *watermark < young.saturating_add(self.apart(*start, *young)) => {
                Some(Danger::Old(*retention))
            }
            _ => None,
        }
    }

    /// How far past the old records a partition must be. Once told, by half as many as are old: one that stays at the limit must
    /// not come and go.
    fn apart(&self, start: i64, young: i64) -> i64 {
        if self.condition.severity().is_some() { young.saturating_sub(start).max(0) / 2 } else { 0 }
    }
}

fn words(position: &Position, danger: Option<Danger>, word: &Word) -> (String, String) {
    let Position { partition, watermark, start, end, retention } = position;
    let count = |from: i64, to: i64| grouped(u64::try_from(to.saturating_sub(from)).unwrap_or(0));
    let waiting = format!("{} offsets are not settled yet", count(*watermark, *end));
    match danger {
        Some(Danger::Lost) => (
            format!("Critical: records of {partition} were removed before they were handled"),
            format!(
                "the log starts at offset {start}, {} past the oldest that was not settled ({watermark}): they are lost unless another copy exists",
                count(*watermark, *start)
            ),
        ),
        Some(Danger::Step(step)) => (
            format!("Critical: records of {partition} are about to be removed unhandled"),
            format!(
                "the log starts at offset {start}, {} before the oldest that is not settled ({watermark}), and moved by {} at once; {waiting}",
                count(*start, *watermark),
                count(0, step)
            ),
        ),
        Some(Danger::Old(time)) => (
            format!("Warning: records of {partition} may be removed unhandled"),
            format!(
                "the oldest record that is not settled (offset {watermark}) is {} {OLD} % of the topic's retention of {}; {waiting}",
                if retention.is_some_and(|(_, young)| *watermark < young) {
                    "older than"
                } else {
                    "not much younger than"
                },
                lasting(time)
            ),
        ),
        None => {
            let lasted = if let Word::Over { lasted, .. } = word { *lasted } else { Duration::ZERO };
            let message =
                format!("no unhandled record is about to be removed any more, after {}; {waiting}", lasting(lasted));
            (format!("Resolved: records of {partition}"), message)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::condition::at;
    use super::*;

    const REPEAT: Duration = Duration::from_secs(3_600);
    const WEEK: Duration = Duration::from_secs(7 * 24 * 3_600);

    fn position(start: i64, watermark: i64, end: i64) -> Position {
        Position { partition: TopicPartition::new("orders", 3), watermark, start, end, retention: None }
    }

    fn look(margin: &mut Margin, second: u64, position: Position) -> Option<String> {
        margin.look(at(second), &position, REPEAT).map(|told| told.title)
    }

    #[test]
    fn another_step_like_the_last_is_critical_and_a_loss_too() {
        let mut margin = Margin::default();
        // A group that begins at the start of an old log is in no danger by that.
        assert_eq!(look(&mut margin, 0, position(500, 500, 9_000)), None);
        assert_eq!(look(&mut margin, 30, position(500, 2_600, 9_000)), None);
        let about = "Critical: records of orders/3 are about to be removed unhandled";
        assert_eq!(look(&mut margin, 60, position(1_600, 2_600, 9_000)).as_deref(), Some(about));
        assert_eq!(look(&mut margin, 90, position(1_600, 3_000, 9_000)), None);
        let over = "Resolved: records of orders/3";
        assert_eq!(look(&mut margin, 120, position(1_600, 4_000, 9_000)).as_deref(), Some(over));
        // All is handled: retention may remove what it likes.
        assert_eq!(look(&mut margin, 150, position(9_000, 9_000, 9_000)), None);
        let lost = "Critical: records of orders/3 were removed before they were handled";
        assert_eq!(look(&mut margin, 180, position(9_900, 9_500, 10_000)).as_deref(), Some(lost));
    }

    #[test]
    fn a_step_is_forgotten_after_a_day() {
        let mut margin = Margin::default();
        look(&mut margin, 0, position(0, 5_000, 9_000));
        look(&mut margin, 30, position(4_000, 9_000, 9_000));
        assert_eq!(look(&mut margin, 90_000, position(4_000, 5_000, 9_000)), None);
    }

    #[test]
    fn old_records_that_wait_are_a_warning() {
        let mut margin = Margin::default();
        let old = |watermark| Position { retention: Some((WEEK, 700)), ..position(0, watermark, 1_000) };
        let told = margin.look(at(0), &old(600), REPEAT).unwrap();
        assert_eq!(told.title, "Warning: records of orders/3 may be removed unhandled");
        assert!(told.message.contains("(offset 600) is older than 80 % of the topic's retention of 7days"), "{told:?}");
        assert!(told.message.ends_with("400 offsets are not settled yet"), "{told:?}");
        assert!(look(&mut margin, 30, old(1_000)).is_some_and(|title| title.starts_with("Resolved")));
        assert_eq!(look(&mut margin, 60, old(1_000)), None);
    }

    #[test]
    fn a_partition_that_stays_at_the_limit_does_not_come_and_go() {
        let mut margin = Margin::default();
        let old = |watermark| Position { retention: Some((WEEK, 700)), ..position(0, watermark, 9_000) };
        assert_eq!(look(&mut margin, 0, old(700)), None);
        assert!(look(&mut margin, 30, old(699)).is_some());
        for second in (60..3_000).step_by(30) {
            let watermark = if second % 60 == 0 { 701 } else { 699 };
            assert_eq!(look(&mut margin, second, old(watermark)), None, "{second}");
        }
        assert!(look(&mut margin, 3_000, old(1_050)).is_some_and(|title| title.starts_with("Resolved")));
        assert_eq!(look(&mut margin, 3_030, old(1_000)), None);
    }

    #[test]
    fn the_steps_of_a_topic_that_was_deleted_say_nothing_of_the_next_one() {
        let mut margin = Margin::default();
        look(&mut margin, 0, position(0, 9_000, 9_000));
        look(&mut margin, 30, position(5_000, 9_000, 9_000));
        assert_eq!(look(&mut margin, 60, position(0, 10, 100)), None);
    }

    #[test]
    fn what_no_broker_should_tell_takes_nothing_down() {
        let mut margin = Margin::default();
        let all = [i64::MIN, -1, 0, i64::MAX];
        for (second, (start, watermark)) in (0..).zip(all.iter().flat_map(|start| all.map(|it| (*start, it)))) {
            for end in all {
                let of = |young| Position { retention: Some((WEEK, young)), ..position(start, watermark, end) };
                for young in all {
                    look(&mut margin, second, of(young));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_settled_is_never_in_danger(starts in prop::collection::vec(0i64..1_000, 1..40)) {
            let (mut margin, mut start) = (Margin::default(), 0);
            for (second, step) in (0..).zip(starts) {
                start += step;
                let settled = Position { retention: Some((WEEK, start)), ..position(start, start, start) };
                prop_assert_eq!(margin.look(at(second), &settled, REPEAT), None);
            }
        }
    }
}
