use std::borrow::Cow;

use serde_json::value::RawValue;

use super::layout::{Encoding, Name};
use crate::dead_letter::time;

/// A value, and under which name it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) name: &'static Name,
    pub(super) bytes: &'a [u8],
}

impl<'a> Value<'a> {
    /// The text; `None` where it is none.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self.name.encoding {
            Encoding::Text => std::str::from_utf8(self.bytes).ok().map(Cow::Borrowed),
            Encoding::Json => json_text(self.bytes),
            _ => None,
        }
    }

    /// Something to read in any case: bytes that are not UTF-8 are replaced, other JSON than a text is shown as such.
    pub(super) fn readable(self) -> Cow<'a, str> {
        self.text().unwrap_or_else(|| String::from_utf8_lossy(self.bytes))
    }

    /// The number; `None` where it is none, or not of the convention's length.
    pub(super) fn integer(self) -> Option<i64> {
        let bytes = self.bytes;
        match self.name.encoding {
            Encoding::Text | Encoding::Nanos | Encoding::Json => std::str::from_utf8(bytes).ok()?.parse().ok(),
            Encoding::I32 => bytes.try_into().ok().map(i32::from_be_bytes).map(Into::into),
            Encoding::I64 => bytes.try_into().ok().map(i64::from_be_bytes),
            Encoding::I32OrByte => match bytes {
                [byte] => Some((*byte).into()),
                _ => bytes.try_into().ok().map(i32::from_be_bytes).map(Into::into),
            },
            Encoding::Minimal => minimal(bytes),
        }
    }

    /// The time in milliseconds since the Unix epoch.
    pub(super) fn millis(self) -> Option<i64> {
        match self.name.encoding {
            Encoding::Text => std::str::from_utf8(self.bytes).ok().and_then(time::parse),
            Encoding::Json => self.integer().or_else(|| self.text().and_then(|text| time::parse(&text))),
            Encoding::Nanos => self.integer().map(|nanos| nanos.div_euclid(1_000_000)),
            _ => self.integer(),
        }
    }

    /// What stands there, for a text that says what cannot be read.
    pub(super) fn shown(self) -> String {
        match self.name.encoding {
            Encoding::Text | Encoding::Nanos | Encoding::Json => {
                let text = String::from_utf8_lossy(self.bytes);
                match text.char_indices().nth(SHOWN) {
                    Some((end, _)) => format!("{:?}…", &text[..end]),
                    None => format!("{text:?}"),
                }
            }
            _ => format!("{} bytes", self.bytes.len()),
        }
    }
}

/// How many characters of an unreadable value are shown.
const SHOWN: usize = 40;

/// A big-endian two's complement number of one to eight bytes.
fn minimal(bytes: &[u8]) -> Option<i64> {
    let first = *bytes.first()?;
    if bytes.len() > 8 {
        return None;
    }
    let sign = if first & 0x80 == 0 { 0 } else { -1 };
    Some(bytes.iter().fold(sign, |number, &byte| number << 8 | i64::from(byte)))
}

/// The text of a JSON string, borrowed where nothing in it is escaped.
fn json_text(json: &[u8]) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.contains(&b'\\') {
        return serde_json::from_slice(json).ok().map(Cow::Owned);
    }
    std::str::from_utf8(inner).ok().map(Cow::Borrowed)
}

/// The bytes of a JSON value as it stands; `None` for null.
pub(super) fn not_null(json: &RawValue) -> Option<&[u8]> {
    (json.get() != "null").then(|| json.get().as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::replay::reader::layout::Field;

    static INT: Name = Name::int("i", Field::Partition);
    static LONG: Name = Name::long("l", Field::Offset);
    static INT_OR_BYTE: Name = Name::int_or_byte("b", Field::Attempts);
    static MINIMAL: Name = Name::minimal("m", Field::Timestamp);
    static JSON: Name = Name::json("j", Field::Message);

    fn integer(name: &'static Name, bytes: &[u8]) -> Option<i64> {
        Value { name, bytes }.integer()
    }

    #[test]
    fn integers_have_the_length_of_their_convention() {
        // Four bytes that are digits too: no text where the convention says binary.
        assert_eq!(integer(&INT, b"1234"), Some(0x3132_3334));
        assert_eq!(integer(&INT, &[0xff; 4]), Some(-1));
        assert_eq!(integer(&INT, b"7"), None);
        assert_eq!(integer(&LONG, &[0, 0, 0, 0, 0, 0, 1, 0]), Some(256));
        assert_eq!(integer(&LONG, &[0, 0, 1, 0]), None);
        assert_eq!(integer(&INT_OR_BYTE, &[200]), Some(200));
        assert_eq!(integer(&INT_OR_BYTE, &[0, 0, 0, 3]), Some(3));
        assert_eq!(integer(&INT_OR_BYTE, &[0, 3]), None);
        assert_eq!(integer(&MINIMAL, &[]), None);
        assert_eq!(integer(&MINIMAL, &[0; 9]), None);
        assert_eq!(integer(&MINIMAL, &[0x01, 0x8d, 0x0c, 0x7b, 0x5d, 0xc0]), Some(0x018d_0c7b_5dc0));
    }

    proptest! {
        #[test]
        fn numbers_of_minimal_length_are_read(number in any::<i64>(), shift in 0..64) {
            let number: i64 = number >> shift;
            let bytes = number.to_be_bytes();
            let spare = bytes.windows(2).take_while(|pair| pair[0] == if number < 0 { 0xff } else { 0 } && (pair[1] & 0x80 != 0) == (number < 0)).count();
            prop_assert_eq!(integer(&MINIMAL, &bytes[spare..]), Some(number));
        }

        #[test]
        fn json_texts_are_read(text in "\\PC{0,20}|.{0,20}") {
            let json = serde_json::to_string(&text).unwrap();
            let read = Value { name: &JSON, bytes: json.as_bytes() }.text();
            prop_assert_eq!(read.as_deref(), Some(text.as_str()));
        }
    }
}
