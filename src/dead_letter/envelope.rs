use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::context::DeadLetterContext;
use super::encode::Original;
use super::format::DeadLetterFormat;
use super::rung::Rung;
use super::text::cut;
use super::time;
use crate::record::Header;

/// A dead letter as one JSON object: fields that people can read, and beside them the exact bytes.
#[derive(Debug, Serialize)]
pub(super) struct Envelope {
    id: String,
    original_topic: String,
    original_partition: i32,
    original_offset: i64,
    /// As text, bytes that are not UTF-8 replaced.
    original_key: Option<String>,
    /// The parsed JSON, or `{"raw": text}` where the value is none; null for a tombstone.
    original_value: Value,
    /// As text, the last one of each name.
    original_headers: BTreeMap<String, Option<String>>,
    error_category: String,
    error_type: String,
    error_message: String,
    stack_trace: Option<String>,
    first_failed_at: Option<String>,
    last_failed_at: Option<String>,
    /// Attempts after the first one.
    retry_count: Option<u32>,
    consumer_id: Option<String>,
    consumer_version: Option<String>,
    // The three fields that replay tools of this convention fill in.
    replayed: bool,
    replayed_at: Option<String>,
    replay_result: Option<String>,
    // What the convention does not have.
    consumer_group: Option<String>,
    original_topic_id: Option<String>,
    original_timestamp: Option<String>,
    replay_count: u32,
    fingerprint: Option<String>,
    truncated: Option<String>,
    original_bytes: Option<Exact>,
}

/// The exact bytes of the original in base64: headers as pairs of name and value, in their order.
#[derive(Debug, Serialize, Deserialize)]
struct Exact {
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    headers: Vec<(String, Option<String>)>,
}

impl Envelope {
    /// The version of the layout, the value of the header `bezoar.envelope`.
    pub(super) const VERSION: &str = "1";

    /// The envelope of what `rung` keeps of a record.
    pub(super) fn of(kept: &Original, context: &DeadLetterContext, format: &DeadLetterFormat, rung: Rung) -> Self {
        let backtrace = context.backtrace.as_deref().filter(|_| format.backtrace_limit > 0);
        let Original { key, value, headers } = kept;
        let readable = |header: &Header| (lossy(&header.name), header.value.as_ref().map(lossy));
        let exact =
            |header: &Header| (BASE64.encode(&header.name), header.value.as_ref().map(|value| BASE64.encode(value)));
        Self {
            id: context.id(),
            original_topic: context.source.partition.topic().into(),
            original_partition: context.source.partition.partition(),
            original_offset: context.source.offset,
            original_key: key.as_ref().map(lossy),
            original_value: value.as_ref().map(readable_value).unwrap_or_default(),
            original_headers: headers.iter().map(readable).collect(),
            error_category: context.category.to_string(),
            error_type: cut(&context.error_type, format.message_limit).into(),
            error_message: cut(&context.message, format.message_limit).into(),
            stack_trace: backtrace.map(|text| cut(text, format.backtrace_limit).into()),
            first_failed_at: context.first_failed_at.map(time::text),
            last_failed_at: context.last_failed_at.map(time::text),
            retry_count: context.attempts.map(|attempts| attempts.saturating_sub(1)),
            consumer_id: context.consumer_id.as_deref().map(Into::into),
            consumer_version: context.consumer_version.as_deref().map(Into::into),
            replayed: false,
            replayed_at: None,
            replay_result: None,
            consumer_group: context.group.as_deref().map(Into::into),
            original_topic_id: context.source.topic_id.map(|id| id.to_string()),
            original_timestamp: context.source_timestamp.map(time::text),
            replay_count: context.replay_count,
            fingerprint: Some(context.fingerprint.clone()),
            truncated: rung.truncated().map(Into::into),
            original_bytes: Some(Exact {
                key: key.as_ref().map(|key| BASE64.encode(key)),
                value: value.as_ref().map(|value| BASE64.encode(value)),
                headers: headers.iter().map(exact).collect(),
            }),
        }
    }

    pub(super) fn to_json(&self) -> Bytes {
        // Writing to memory fails only for maps whose keys are no texts; there are none here.
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}

/// Key, value and headers of a record.
pub(crate) type Parts = (Option<Bytes>, Option<Bytes>, Vec<Header>);

/// Those of the original by the envelope's member `original_bytes`.
pub(crate) fn read_exact(json: &[u8]) -> Result<Parts, String> {
    let decode = |text: String| match BASE64.decode(text) {
        Ok(bytes) => Ok(Bytes::from(bytes)),
        Err(error) => Err(error.to_string()),
    };
    let exact: Exact = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let header = |(name, value): (String, Option<String>)| {
        Ok(Header { name: decode(name)?, value: value.map(decode).transpose()? })
    };
    Ok((
        exact.key.map(decode).transpose()?,
        exact.value.map(decode).transpose()?,
        exact.headers.into_iter().map(header).collect::<Result<_, String>>()?,
    ))
}

fn lossy(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The deepest JSON that is shown as such. Parsers give up at some depth (serde_json at 128), and the envelope must not
/// become unreadable, here or elsewhere, for being one level deeper than a value that was just readable.
const READABLE_DEPTH: usize = 64;

fn readable_value(value: &Bytes) -> Value {
    match serde_json::from_slice(value) {
        Ok(parsed) if depth(&parsed) <= READABLE_DEPTH => parsed,
        _ => json!({ "raw": lossy(value) }),
    }
}

/// How deep arrays and objects are nested. Recurses no deeper than the parser did.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
