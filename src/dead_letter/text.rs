/// The first `limit` characters of `text`.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    // No more bytes, no more characters: most texts are far from their limit.
    if text.len() <= limit {
        return text;
    }
    match text.char_indices().nth(limit) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Appends a number in decimal. By hand: a dead letter has several, and formatting takes a few times as long.
pub(super) fn put_number(to: &mut String, number: i64) {
    let mut digits = [0; 19];
    let mut start = digits.len();
    let mut left = number.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if number < 0 {
        to.push('-');
    }
    to.extend(digits[start..].iter().map(|&digit| char::from(digit)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cuts_on_characters_and_no_more_than_needed(text in "\\PC{0,40}", limit in 0..50usize) {
            let short = cut(&text, limit);
            prop_assert!(text.starts_with(short));
            prop_assert_eq!(short.chars().count(), text.chars().count().min(limit));
        }

        #[test]
        fn numbers_are_decimal(number in any::<i64>(), shift in 0..64) {
            let mut text = String::new();
            for number in [number >> shift, i64::MIN, i64::MAX, 0] {
                text.clear();
                put_number(&mut text, number);
                prop_assert_eq!(&text, &number.to_string());
            }
        }
    }
}
