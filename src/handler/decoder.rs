use std::future::{Future, ready};

use serde::de::DeserializeOwned;

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
#[derive(Debug, Clone, Copy, Default)]
pub struct Json;

impl<M: DeserializeOwned + Send> Decoder<M> for Json {
    type Error = serde_json::Error;

    fn decode(&mut self, record: &Record) -> impl Future<Output = Result<M, serde_json::Error>> + Send {
        ready(serde_json::from_slice(record.value().unwrap_or(b"null")))
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
