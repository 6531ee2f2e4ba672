//! What records hold must not steer a terminal, nor look like something else on it.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character moves the cursor, changes how a terminal works, or changes how the text around it is read: control
/// characters, and those that reverse the direction of text or are not seen.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Text for one line: what is unsafe stands as an escape, such as `\n` or `\u{1b}`.
pub(in crate::cli) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe)
}

/// Text of several lines: as [`line`], but line breaks stay.
pub(in crate::cli) fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| character != '\n' && is_unsafe(character))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            _ if !is_escaped(character) => safe.push(character),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            // Writing to a string cannot fail.
            _ => drop(write!(safe, "\\u{{{:x}}}", u32::from(character))),
        }
    }
    Cow::Owned(safe)
}

/// JSON text with what is unsafe in its strings as JSON's own escapes: it means the same.
pub(in crate::cli) fn json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut units = [0; 2];
    for character in text.chars() {
        if is_unsafe(character) {
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_seen_and_text_stays() {
        assert_eq!(line("Zürich 日本 😀"), "Zürich 日本 😀");
        assert_eq!(line("a\u{1b}[2Jb\r\n\tc\u{9b}31m\u{7f}"), "a\\u{1b}[2Jb\\r\\n\\tc\\u{9b}31m\\u{7f}");
        assert_eq!(line("user\u{202e}gpj.exe"), "user\\u{202e}gpj.exe");
        assert_eq!(lines("one\ntwo\u{8}"), "one\ntwo\\u{8}");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(text in any::<String>()) {
            prop_assert!(!line(&text).contains(is_unsafe));
            prop_assert!(!lines(&text).replace('\n', "").contains(is_unsafe));
        }

        #[test]
        fn json_means_the_same(text in any::<String>()) {
            let plain = serde_json::to_string(&text).unwrap();
            let safe = json(&plain);
            prop_assert!(!safe.contains(is_unsafe));
            prop_assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
        }
    }
}
