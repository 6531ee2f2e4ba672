//! JSON text with other white space and otherwise as it was: numbers keep all their digits, names their order and their
//! duplicates.

use serde::de::IgnoredAny;

/// Whether it is one JSON text. The error says where it ends to be one.
pub(in crate::cli) fn check(text: &[u8]) -> Result<(), String> {
    // First as text: what is ignored is not looked at so closely.
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|error| error.to_string())
}

/// The JSON text spread over lines, indented by two spaces, without a line break at its end. Text that is no JSON comes out
/// somehow.
pub(in crate::cli) fn spread(text: &str) -> String {
    let mut spread = String::with_capacity(text.len() * 2);
    let mut depth = 0usize;
    let mut characters = significant(text).peekable();
    while let Some((character, is_quoted)) = characters.next() {
        if is_quoted {
            spread.push(character);
            continue;
        }
        match character {
            '{' | '[' => {
                spread.push(character);
                if matches!(characters.peek(), Some(('}' | ']', false))) {
                    spread.extend(characters.next().map(|(closing, _)| closing));
                } else {
                    depth += 1;
                    break_line(&mut spread, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut spread, depth);
                spread.push(character);
            }
            ',' => {
                spread.push(',');
                break_line(&mut spread, depth);
            }
            ':' => spread.push_str(": "),
            _ => spread.push(character),
        }
    }
    spread
}

/// The JSON text without white space between its parts.
pub(in crate::cli) fn compact(text: &str) -> String {
    significant(text).map(|(character, _)| character).collect()
}

fn break_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

/// The characters that are not white space between JSON's parts, and whether each belongs to a string.
fn significant(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut quoted = false;
    let mut escaped = false;
    text.chars().filter_map(move |character| {
        let was_quoted = quoted;
        if quoted {
            quoted = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else {
            quoted = character == '"';
        }
        let is_space = !was_quoted && matches!(character, ' ' | '\t' | '\r' | '\n');
        (!is_space).then_some((character, was_quoted || quoted))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_white_space_changes() {
        let text = r#"{"b":[1.10,{}],"a":"x, \"y\": {","a":12345678901234567890123}"#;
        let lines = [
            "{",
            r#"  "b": ["#,
            "    1.10,",
            "    {}",
            "  ],",
            r#"  "a": "x, \"y\": {","#,
            r#"  "a": 12345678901234567890123"#,
            "}",
        ];
        assert_eq!(spread(text), lines.join("\n"));
        assert_eq!(compact(&lines.join("\r\n\t")), text);
    }

    #[test]
    fn what_is_no_json_is_found() {
        assert_eq!(check(b" [1] \n"), Ok(()));
        for bytes in [&b""[..], b"{", b"{} {}", b"NaN", b"\xff", b"\"\xff\""] {
            assert!(check(bytes).is_err(), "{bytes:?}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6).prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_meaning_stays(value in values()) {
            let text = value.to_string();
            prop_assert_eq!(serde_json::from_str::<Value>(&spread(&text)).unwrap(), value);
            prop_assert_eq!(compact(&spread(&text)), text);
        }

        #[test]
        fn garbage_never_panics(text in any::<String>()) {
            let _ = (spread(&text), compact(&text));
        }
    }

    #[test]
    fn an_empty_object_stays_on_its_line() {
        assert_eq!(spread(&json!({"a": []}).to_string()), "{\n  \"a\": []\n}");
    }
}
