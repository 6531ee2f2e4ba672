/// The first `limit` characters of `text`.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    match text.char_indices().nth(limit) {
        Some((end, _)) => &text[..end],
        None => text,
    }
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
    }
}
