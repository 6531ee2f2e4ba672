//! Bytes of records as people and programs can read them.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::layout;

/// Bytes in JSON: a text and nothing where they are UTF-8, null and base64 where they are not, null and nothing where there are
/// none.
pub(in crate::cli) fn fields(bytes: Option<&[u8]>) -> (Option<&str>, Option<String>) {
    match bytes.map(|bytes| (std::str::from_utf8(bytes), bytes)) {
        None => (None, None),
        Some((Ok(text), _)) => (Some(text), None),
        Some((Err(_), bytes)) => (None, Some(STANDARD.encode(bytes))),
    }
}

/// A header in JSON.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct HeaderJson<'a> {
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_base64: Option<String>,
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_base64: Option<String>,
}

impl<'a> HeaderJson<'a> {
    pub(in crate::cli) fn new(header: &'a crate::record::Header) -> Self {
        let (name, name_base64) = fields(Some(&header.name));
        let (value, value_base64) = fields(header.value.as_deref());
        Self { name, name_base64, value, value_base64 }
    }
}

/// What bytes look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Kind {
    Null,
    Json,
    Text,
    Binary,
}

/// Bytes for people: what they look like, and text of several lines (JSON spread out, text as it is, else a dump).
pub(in crate::cli) fn readable(bytes: Option<&[u8]>) -> (Kind, String) {
    let Some(bytes) = bytes else { return (Kind::Null, String::new()) };
    match std::str::from_utf8(bytes) {
        Ok(text) if layout::check(bytes).is_ok() => (Kind::Json, layout::spread(text)),
        Ok(text) => (Kind::Text, text.to_owned()),
        Err(_) => (Kind::Binary, dump(bytes)),
    }
}

/// Bytes for people in one line: text as it is, else hexadecimal digits, at most 64 bytes of them.
pub(in crate::cli) fn short(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else { return "null".to_owned() };
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let mut text = String::from("0x");
            for byte in bytes.iter().take(64) {
                let _ = write!(text, "{byte:02x}");
            }
            if bytes.len() > 64 {
                text.push('…');
            }
            text
        }
    }
}

/// Sixteen bytes per line: where, hexadecimal, and as ASCII where they are.
fn dump(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 5);
    for (index, row) in bytes.chunks(16).enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let _ = write!(text, "{:08x} ", index * 16);
        for place in 0..16 {
            if place % 8 == 0 {
                text.push(' ');
            }
            match row.get(place) {
                Some(byte) => drop(write!(text, "{byte:02x} ")),
                None => text.push_str("   "),
            }
        }
        text.push_str(" |");
        text.extend(row.iter().map(|byte| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' }));
        text.push('|');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Header;

    #[test]
    fn bytes_are_text_where_they_can_be_and_base64_where_not() {
        assert_eq!(fields(Some(b"")), (Some(""), None));
        assert_eq!(fields(None), (None, None));
        assert_eq!(fields(Some(&[0xff, 0])), (None, Some("/wA=".to_owned())));
        let json = |header: Header| serde_json::to_string(&HeaderJson::new(&header)).unwrap();
        assert_eq!(json(Header::new("a", "b")), r#"{"name":"a","value":"b"}"#);
        assert_eq!(json(Header::null("a")), r#"{"name":"a","value":null}"#);
        let binary = json(Header::new(&[0xff][..], &[0xfe][..]));
        assert_eq!(binary, r#"{"name":null,"name_base64":"/w==","value":null,"value_base64":"/g=="}"#);
    }

    #[test]
    fn values_are_shown_as_what_they_are() {
        assert_eq!(readable(None), (Kind::Null, String::new()));
        assert_eq!(readable(Some(br#"{"a":1}"#)), (Kind::Json, "{\n  \"a\": 1\n}".to_owned()));
        assert_eq!(readable(Some(b"{a")), (Kind::Text, "{a".to_owned()));
        let (kind, text) = readable(Some(b"\xff\x00ABCDEFGHIJKLMNOP"));
        assert_eq!(kind, Kind::Binary);
        let lines = [
            "00000000  ff 00 41 42 43 44 45 46  47 48 49 4a 4b 4c 4d 4e  |..ABCDEFGHIJKLMN|",
            "00000010  4f 50                                             |OP|",
        ];
        assert_eq!(text, lines.join("\n"));
        assert_eq!(short(Some(&[0xff; 65])).len(), 2 + 128 + '…'.len_utf8());
    }
}
