/// A text to look for in messages: case-insensitive, and where it begins or ends with a digit only as a whole number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(String);

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_lowercase())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `message`, which must be in lower case, holds the pattern.
    pub(super) fn matches(&self, message: &str) -> bool {
        let pattern = self.0.as_str();
        if pattern.is_empty() {
            return false;
        }
        // Most messages do not hold it: found out in a fraction of the time that its places take.
        if !message.contains(pattern) {
            return false;
        }
        let digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
        let (number_first, number_last) = (digit(pattern.chars().next()), digit(pattern.chars().next_back()));
        message.match_indices(pattern).any(|(start, _)| {
            let (before, after) = (&message[..start], &message[start + pattern.len()..]);
            !(number_first && continues(before.chars().rev()) || number_last && continues(after.chars()))
        })
    }
}

/// Whether a number goes on in `letters`, which lead away from it: "15034" and "err_503" are other words than "503", and
/// "503.20" is another number, while "503." ends a sentence.
fn continues(mut letters: impl Iterator<Item = char>) -> bool {
    match letters.next() {
        Some('.') => letters.next().is_some_and(|letter| letter.is_ascii_digit()),
        Some(letter) => letter.is_alphanumeric() || letter == '_',
        None => false,
    }
}

/// `message` without what stands in double quotes; an unpaired quote hides nothing.
pub(super) fn without_quoted(message: &str) -> String {
    let mut parts: Vec<&str> = message.split('"').collect();
    // Quoted parts are those at odd places, except the last one, which nothing closes.
    let unclosed = if parts.len().is_multiple_of(2) { parts.pop() } else { None };
    let mut text = parts.iter().step_by(2).copied().collect::<Vec<_>>().join("\"\"");
    text.extend(unclosed);
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, message: &str) -> bool {
        Pattern::new(pattern).matches(&message.to_lowercase())
    }

    #[test]
    fn numbers_match_as_whole_words_only() {
        for message in ["503", "HTTP 503.", "status=503,", "(503)", "order 15034 got 503", "HTTP/1.1 503 Busy", "503:"]
        {
            assert!(matches("503", message), "{message}");
        }
        for message in ["order 15034", "1503", "5030", "order_503", "a503", "503ms", "total 503.20", "v2.503", ""] {
            assert!(!matches("503", message), "{message}");
        }
    }

    #[test]
    fn texts_match_in_any_case_and_anywhere() {
        assert!(matches("rate limit", "Rate Limited: slow down"));
        assert!(matches("TIMEOUT", "inventory service timeouts"));
        assert!(!matches("timeout", "time out"));
        assert!(!matches("", "anything"));
    }

    #[test]
    fn quoted_parts_are_left_out() {
        assert_eq!(without_quoted("a \"b\" c \"d\""), "a \"\" c \"\"");
        assert_eq!(without_quoted("plain"), "plain");
        assert_eq!(without_quoted("a \"b"), "a b");
    }

    proptest! {
        #[test]
        fn a_number_inside_a_longer_number_never_matches(before in "[0-9]{1,4}", after in "[0-9]{0,4}", rest in "[a-z ]{0,10}") {
            let message = format!("{rest} {before}503{after} {rest}");
            // Unless the surrounding digits happen to spell the number themselves there is no whole 503.
            prop_assert!(!matches("503", &message));
        }

        #[test]
        fn never_panics(pattern in "\\PC{0,8}", message in "\\PC{0,40}") {
            let _ = matches(&pattern, &message);
            let whole = format!(" {message} {pattern} {message} ");
            prop_assert!(pattern.is_empty() || matches(&pattern, &whole));
        }
    }
}
