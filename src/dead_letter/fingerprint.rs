use md5::{Digest, Md5};

use crate::policy::Category;

/// A text of 16 hexadecimal digits that stays the same over occurrences of one fault, for grouping. Made of the
/// category, the error's type, where it panicked (`location`), and the message with all that varies from record to record
/// masked: quoted texts, and words with a digit in them (numbers, ids, dates, addresses).
pub fn fingerprint(category: Category, error_type: &str, message: &str, location: Option<&str>) -> String {
    let masked = mask(message);
    // Zero bytes keep the parts from running into each other.
    let parts = [category.as_str(), error_type, &masked, location.unwrap_or_default()];
    short_hash(parts.join("\0").as_bytes())
}

/// The first 16 hexadecimal digits of the MD5 of `bytes`: an identifier, nothing that protects.
pub(super) fn short_hash(bytes: &[u8]) -> String {
    let digest: [u8; 16] = Md5::digest(bytes).into();
    format!("{:016x}", u128::from_be_bytes(digest) >> 64)
}

/// Names of types hold digits that say what the fault is.
const TYPES: [&str; 14] =
    ["i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128", "f32", "f64", "utf-8", "utf8"];

fn mask(message: &str) -> String {
    let mut masked = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        if first == '"'
            && let Some(end) = closing_quote(rest)
        {
            masked.push_str("\"\"");
            rest = &rest[end..];
            continue;
        }
        let word = rest.find(|letter: char| !in_word(letter)).unwrap_or(rest.len());
        if word == 0 {
            masked.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (text, after) = rest.split_at(word);
        let varies = text.bytes().any(|byte| byte.is_ascii_digit());
        let masks = varies && !TYPES.iter().any(|name| name.eq_ignore_ascii_case(text));
        masked.push_str(if masks { "#" } else { text });
        rest = after;
    }
    masked
}

fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '-'
}

/// The end of the quoted text that `text` begins with, past its closing quote; a backslash hides a quote.
fn closing_quote(text: &str) -> Option<usize> {
    let mut hidden = false;
    for (index, letter) in text.char_indices().skip(1) {
        match letter {
            _ if hidden => hidden = false,
            '\\' => hidden = true,
            '"' => return Some(index + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(message: &str) -> String {
        fingerprint(Category::Validation, "E", message, None)
    }

    #[test]
    fn what_varies_is_masked() {
        assert_eq!(mask("order 4711 of ord_123: got \"a \\\" b\" at 2024-01-15"), "order # of #: got \"\" at #");
        assert_eq!(mask("id 8c1f9c3e-7a0b-4a5e-9d52-1f1c0f8f1c11, 0xdeadbeef 10.0.0.1:80"), "id #, # #.#.#.#:#");
        assert_eq!(mask("invalid type: string \"x\", expected u64"), "invalid type: string \"\", expected u64");
        assert_eq!(mask("a \"lone quote"), "a \"lone quote");
    }

    #[test]
    fn different_faults_differ() {
        assert_ne!(of("missing field `id`"), of("missing field `total`"));
        assert_ne!(of("expected u64"), of("expected i32"));
        let panic = |location| fingerprint(Category::Poison, "panic", "boom", Some(location));
        assert_ne!(panic("src/a.rs:1:1"), panic("src/a.rs:2:1"));
        assert_ne!(fingerprint(Category::Unknown, "E", "x", None), fingerprint(Category::Poison, "E", "x", None));
        assert_ne!(fingerprint(Category::Unknown, "a", "b", None), fingerprint(Category::Unknown, "ab", "", None));
    }

    proptest! {
        #[test]
        fn stable_over_numbers_and_quoted_texts(one in any::<u64>(), two in any::<u64>(), first in "[a-z ]{0,10}", second in "\\PC{0,10}") {
            let message = |number: u64, text: &str| format!("order {number} failed: {text:?} at line {number} column {number}");
            prop_assert_eq!(of(&message(one, &first)), of(&message(two, &second)));
        }

        #[test]
        fn any_text_gives_sixteen_hex_digits(message in "\\PC{0,60}") {
            let text = of(&message);
            prop_assert!(text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
    }
}
