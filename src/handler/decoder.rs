use std::future::{Future, ready};

use serde::de::{DeserializeOwned, Error as _};

use super::{Failure, IntoFailure};
use crate::record::Record;

/// Turns a record into a handler's message.
///
/// A decoder is a value: each partition gets a clone of the one given to the builder, and runs it under the same
/// guard and time limit as its handler. Tombstones (records whose value is null) reach it as such. An error is a
/// validation failure unless it states another category (a schema registry that is down is transient).
///
/// ```
/// use bezoar::{Decoder, Failure, record::Record};
///
/// /// Two numbers, comma-separated.
/// #[derive(Clone)]
/// struct Pair;
///
/// impl Decoder<(u32, u32)> for Pair {
///     type Error = Failure;
///
///     async fn decode(&mut self, record: &Record) -> Result<(u32, u32), Failure> {
///         let text = std::str::from_utf8(record.value().unwrap_or_default())?;
///         let (a, b) = text.split_once(',').ok_or_else(|| Failure::validation("expected two numbers"))?;
///         Ok((a.parse()?, b.parse()?))
///     }
/// }
/// ```
pub trait Decoder<M>: Clone + Send + 'static {
    /// Why a record could not be decoded.
    type Error: IntoFailure;

    /// Decodes the record.
    fn decode(&mut self, record: &Record) -> impl Future<Output = Result<M, Self::Error>> + Send;
}

/// The value as JSON, into any serde type. A tombstone reads as `null`, so an `Option` takes it as `None`.
///
/// Where JSON does not fit the type the error names the field: `items: invalid type: string "tea", expected a sequence
/// at line 1 column 24`, or `items[2].count: …` deeper down.
#[derive(Debug, Clone, Copy, Default)]
pub struct Json;

impl<M: DeserializeOwned + Send> Decoder<M> for Json {
    type Error = serde_json::Error;

    fn decode(&mut self, record: &Record) -> impl Future<Output = Result<M, serde_json::Error>> + Send {
        let value = record.value().unwrap_or(b"null");
        ready(serde_json::from_slice(value).map_err(|error| name_field::<M>(value, error)))
    }
}

/// Puts the path of the field before the message of an error about it. Decodes once more for that, since keeping track
/// of the path would slow down the records that are right.
fn name_field<M: DeserializeOwned>(value: &[u8], error: serde_json::Error) -> serde_json::Error {
    if !error.is_data() {
        return error;
    }
    let mut again = serde_json::Deserializer::from_slice(value);
    match serde_path_to_error::deserialize::<_, M>(&mut again) {
        Err(located) if located.path().iter().len() > 0 => {
            // Line and column stay: serde_json takes them from the end of the text.
            serde_json::Error::custom(format!("{}: {error}", located.path()))
        }
        _ => error,
    }
}

/// The value as UTF-8 text, into a `String`, or an `Option<String>` that is `None` for a tombstone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Utf8;

impl Decoder<String> for Utf8 {
    type Error = Failure;

    fn decode(&mut self, record: &Record) -> impl Future<Output = Result<String, Failure>> + Send {
        ready(match record.value() {
            Some(value) => text(value),
            None => Err(Failure::validation("the value is null, text was expected")),
        })
    }
}

impl Decoder<Option<String>> for Utf8 {
    type Error = Failure;

    fn decode(&mut self, record: &Record) -> impl Future<Output = Result<Option<String>, Failure>> + Send {
        ready(record.value().map(text).transpose())
    }
}

fn text(value: &[u8]) -> Result<String, Failure> {
    Ok(std::str::from_utf8(value)?.to_owned())
}

/// The record as it is. Never fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raw;

impl Decoder<Record> for Raw {
    type Error = std::convert::Infallible;

    fn decode(&mut self, record: &Record) -> impl Future<Output = Result<Record, Self::Error>> + Send {
        ready(Ok(record.clone()))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)] // only what is wrong with it is looked at
    struct Order {
        id: u32,
        items: Vec<Item>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)] // only what is wrong with it is looked at
    struct Item {
        count: u8,
    }

    fn error(json: &str) -> serde_json::Error {
        serde_json::from_str::<Order>(json).map_err(|error| name_field::<Order>(json.as_bytes(), error)).unwrap_err()
    }

    #[test]
    fn an_error_names_the_field() {
        let named = error(r#"{"id": 1, "items": "tea"}"#);
        assert_eq!(named.to_string(), r#"items: invalid type: string "tea", expected a sequence at line 1 column 24"#);
        assert_eq!((named.is_data(), named.line(), named.column()), (true, 1, 24));
        let deep = error(r#"{"id": 1, "items": [{"count": 1}, {"count": 300}]}"#);
        assert!(deep.to_string().starts_with("items[1].count: invalid value: integer `300`, expected u8"), "{deep}");
    }

    #[test]
    fn an_error_about_the_whole_stays_as_it_is() {
        for json in ["[]", "{\"id\": 1}", "{\"id\": 1,", "", "{\"id\": 1, \"items\": []} x"] {
            let plain = serde_json::from_str::<Order>(json).unwrap_err();
            assert_eq!(error(json).to_string(), plain.to_string(), "{json}");
        }
    }
}
