use std::time::Duration;

/// A number with thousands separators: `1,234`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration as people say it: no milliseconds past a second, no seconds past an hour.
pub(super) fn lasting(duration: Duration) -> String {
    let step = match duration.as_secs() {
        0 => return humantime::format_duration(Duration::from_millis(duration.as_millis() as u64)).to_string(),
        1..3_600 => 1,
        3_600..86_400 => 60,
        _ => 3_600,
    };
    humantime::format_duration(Duration::from_secs(duration.as_secs() / step * step)).to_string()
}

/// Records per minute with one digit after the point, and what they do.
pub(super) fn growth(per_minute: f64) -> String {
    let rounded = (per_minute * 10.0).round() / 10.0;
    if rounded == 0.0 {
        return "not growing".to_owned();
    }
    let verb = if rounded > 0.0 { "growing" } else { "shrinking" };
    format!("{verb} by {} records per minute", rounded.abs())
}

/// At most `limit` characters of a text, in one line.
pub(super) fn brief(text: &str, limit: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_and_times_are_as_people_write_them() {
        let numbers = [0, 12, 999, 1_000, 1_234, 999_999, 1_000_000].map(grouped);
        assert_eq!(numbers, ["0", "12", "999", "1,000", "1,234", "999,999", "1,000,000"]);
        let times = [250, 1_900, 61_500, 3_725_000, 90_061_000].map(|millis| lasting(Duration::from_millis(millis)));
        assert_eq!(times, ["250ms", "1s", "1m 1s", "1h 2m", "1day 1h"]);
        assert_eq!(growth(12.54), "growing by 12.5 records per minute");
        assert_eq!(growth(-3.0), "shrinking by 3 records per minute");
        assert_eq!(growth(0.04), "not growing");
        assert_eq!(brief("one\ntwo  three", 8), "one two …");
    }

    proptest! {
        #[test]
        fn separators_change_no_digit(number in any::<u64>()) {
            let text = grouped(number);
            prop_assert_eq!(text.replace(',', ""), number.to_string());
            prop_assert!(text.split(',').skip(1).all(|group| group.len() == 3));
        }

        #[test]
        fn a_brief_text_is_brief(text in "\\PC{0,50}", limit in 0usize..40) {
            prop_assert!(brief(&text, limit).chars().count() <= limit + 1);
        }
    }
}
