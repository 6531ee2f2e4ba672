use std::collections::VecDeque;

use md5::{Digest, Md5};

use crate::policy::Category;

/// A text of 16 hexadecimal digits that stays the same over occurrences of one fault, for grouping. Made of the
/// category, the error's type, where it panicked (`location`), and the message with all that varies from record to record
/// masked: quoted texts, and words with a digit in them (numbers, ids, dates, addresses).
pub fn fingerprint(category: Category, error_type: &str, message: &str, location: Option<&str>) -> String {
    let mut shape = String::new();
    put_shape(&mut shape, category, error_type, message, location);
    hash_from(&mut shape, 0);
    shape
}

/// Makes fingerprints, and knows those that it made last: most failures of a storm are alike, and comparing a text costs less
/// than hashing it.
#[derive(Debug, Default)]
pub(crate) struct Fingerprints {
    /// What was hashed, and the fingerprint.
    known: VecDeque<(String, String)>,
    shape: String,
}

/// How many fingerprints are known, and how long the texts behind them may be, in bytes.
const KNOWN: usize = 8;
const KNOWN_BYTES: usize = 1024;

impl Fingerprints {
    /// The same as [`fingerprint`].
    pub(super) fn of(&mut self, category: Category, error_type: &str, message: &str, location: Option<&str>) -> String {
        self.shape.clear();
        put_shape(&mut self.shape, category, error_type, message, location);
        if let Some((_, fingerprint)) = self.known.iter().find(|(shape, _)| *shape == self.shape) {
            return fingerprint.clone();
        }
        let shape = std::mem::take(&mut self.shape);
        let mut fingerprint = shape.clone();
        hash_from(&mut fingerprint, 0);
        fingerprint.shrink_to_fit();
        // A long one would be held in memory by each partition.
        if shape.len() <= KNOWN_BYTES {
            self.known.truncate(KNOWN - 1);
            self.known.push_front((shape, fingerprint.clone()));
        }
        fingerprint
    }
}

/// Appends what a fingerprint is the hash of.
fn put_shape(to: &mut String, category: Category, error_type: &str, message: &str, location: Option<&str>) {
    // Zero bytes keep the parts from running into each other.
    for part in [category.as_str(), "\0", error_type, "\0"] {
        to.push_str(part);
    }
    put_masked(to, message);
    to.push('\0');
    to.push_str(location.unwrap_or_default());
}

/// Replaces the text from `start` on by the first 16 hexadecimal digits of its MD5: an identifier, nothing that protects.
pub(super) fn hash_from(text: &mut String, start: usize) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest: [u8; 16] = Md5::digest(&text.as_bytes()[start..]).into();
    let mut digits = [0; 16];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(digest) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 0xf)];
    }
    text.truncate(start);
    text.push_str(str::from_utf8(&digits).unwrap_or_default());
}

/// Names of types hold digits that say what the fault is.
const TYPES: [&str; 14] =
    ["i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128", "f32", "f64", "utf-8", "utf8"];

/// Appends a message, what varies in it masked.
fn put_masked(to: &mut String, message: &str) {
    let (mut copied, mut place) = (0, 0);
    while let Some((in_word, length)) = letter_at(message, place) {
        let start = place;
        place += length;
        let mask = if in_word {
            while let Some((true, length)) = letter_at(message, place) {
                place += length;
            }
            let word = &message[start..place];
            let varies = word.bytes().any(|byte| byte.is_ascii_digit());
            (varies && !TYPES.iter().any(|name| name.eq_ignore_ascii_case(word))).then_some("#")
        } else if let Some(length) = quoted_length(&message[start..]) {
            place = start + length;
            Some("\"\"")
        } else {
            None
        };
        if let Some(mask) = mask {
            to.push_str(&message[copied..start]);
            to.push_str(mask);
            copied = place;
        }
    }
    to.push_str(&message[copied..]);
}

/// Whether the character at `place` is one of a word, and how many bytes it has.
#[inline]
fn letter_at(text: &str, place: usize) -> Option<(bool, usize)> {
    let byte = *text.as_bytes().get(place)?;
    if byte.is_ascii() {
        return Some((byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-', 1));
    }
    text[place..].chars().next().map(|letter| (letter.is_alphanumeric(), letter.len_utf8()))
}

/// The length of the quoted text that `text` begins with, both quotes included; a backslash hides a quote.
fn quoted_length(text: &str) -> Option<usize> {
    if !text.starts_with('"') {
        return None;
    }
    let mut hidden = false;
    // No byte of a longer character is a quote or a backslash.
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if hidden => hidden = false,
            b'\\' => hidden = true,
            b'"' => return Some(index + 1),
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

    fn mask(message: &str) -> String {
        let mut masked = String::new();
        put_masked(&mut masked, message);
        masked
    }

    #[test]
    fn what_varies_is_masked() {
        assert_eq!(mask("order 4711 of ord_123: got \"a \\\" b\" at 2024-01-15"), "order # of #: got \"\" at #");
        assert_eq!(mask("id 8c1f9c3e-7a0b-4a5e-9d52-1f1c0f8f1c11, 0xdeadbeef 10.0.0.1:80"), "id #, # #.#.#.#:#");
        assert_eq!(mask("invalid type: string \"x\", expected u64"), "invalid type: string \"\", expected u64");
        assert_eq!(mask("a \"lone quote"), "a \"lone quote");
        assert_eq!(mask("straße7 großes ×2, \"ß\\\"\" in ä1"), "# großes ×#, \"\" in #");
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
        fn known_or_not_they_are_the_same(messages in prop::collection::vec("[a-c]{1,2}", 1..40), long in any::<bool>()) {
            let mut known = Fingerprints::default();
            for message in messages {
                let message = if long { message.repeat(KNOWN_BYTES) } else { message };
                prop_assert_eq!(known.of(Category::Validation, "E", &message, None), of(&message));
            }
        }

        #[test]
        fn any_text_gives_sixteen_hex_digits(message in "\\PC{0,60}") {
            let text = of(&message);
            prop_assert!(text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
    }
}
