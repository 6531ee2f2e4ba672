use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::tally::Tally;
use crate::cli::exit::CliError;
use crate::cli::output::thousands;
use crate::cli::output::time::age;

/// Shows on standard error how far a replay is. Only what was sent moves it on: what is left takes no time.
pub(super) struct Bar {
    bar: ProgressBar,
    expected: Option<u64>,
    dry_run: bool,
}

impl Bar {
    pub(super) fn new(expected: Option<u64>, dry_run: bool) -> Result<Self, CliError> {
        let (bar, template) = match expected {
            Some(expected) => (ProgressBar::new(expected), "{bar:30} {msg}"),
            None => (ProgressBar::no_length(), "{spinner} {msg}"),
        };
        let bar = bar.with_style(ProgressStyle::with_template(template).map_err(CliError::failed)?);
        Ok(Self { bar, expected, dry_run })
    }

    pub(super) fn show(&self, tally: &Tally) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_message(if self.dry_run {
            format!("{} done", thousands(tally.all()))
        } else {
            text((tally.success, tally.failed, tally.skipped), self.expected, self.bar.elapsed())
        });
        self.bar.set_position(tally.success);
    }

    /// Takes the bar away while something is written.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// `1,200/5,000 sent, 3 failed, 50/s, 1m left`.
fn text((sent, failed, skipped): (u64, u64, u64), expected: Option<u64>, elapsed: Duration) -> String {
    let mut text = match expected {
        Some(expected) => format!("{}/{} sent", thousands(sent), thousands(expected)),
        None => format!("{} sent", thousands(sent)),
    };
    for (number, what) in [(failed, "failed"), (skipped, "skipped")] {
        if number > 0 {
            text.push_str(&format!(", {} {what}", thousands(number)));
        }
    }
    let seconds = elapsed.as_secs_f64();
    // What was sent at once at the beginning says nothing of what follows.
    if seconds < 1.0 || sent == 0 {
        return text;
    }
    let rate = sent as f64 / seconds;
    let shown = match rate {
        1.0.. => format!("{}/s", thousands(rate.round() as u64)),
        _ => format!("{}/min", thousands((rate * 60.0).round() as u64)),
    };
    text.push_str(&format!(", {shown}"));
    let left = expected.unwrap_or(0).saturating_sub(sent + failed);
    if left > 0 {
        let millis = (left as f64 / rate * 1_000.0) as i64;
        text.push_str(&format!(", {} left", age(millis, 0)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_told_with_its_rate_and_the_time_left() {
        let (sent, after) = ((1_200, 0, 0), Duration::from_secs);
        assert_eq!(text(sent, Some(5_000), after(0)), "1,200/5,000 sent");
        assert_eq!(text(sent, Some(5_000), after(24)), "1,200/5,000 sent, 50/s, 1m left");
        assert_eq!(text(sent, None, after(24)), "1,200 sent, 50/s");
        let others = (1_200, 3_800, 7);
        assert_eq!(text(others, Some(5_000), after(24)), "1,200/5,000 sent, 3,800 failed, 7 skipped, 50/s");
        assert_eq!(text((2, 0, 0), Some(3), after(8)), "2/3 sent, 15/min, 4s left");
    }
}
