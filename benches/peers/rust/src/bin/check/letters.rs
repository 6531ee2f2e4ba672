use std::collections::HashMap;
use std::fmt::Display;

use bezoar_peers::Result;
use bezoar_peers::dead_letter as names;
use bezoar_peers::job::Job;
use bezoar_peers::order::Order;
use rdkafka::Message;
use rdkafka::message::{BorrowedMessage, Headers};

use super::log;

/// A header: its name, and its value unless that is null.
type Header = (String, Option<Vec<u8>>);

/// What a record consists of.
#[derive(Debug, PartialEq)]
struct Content {
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<Header>,
}

/// A dead letter as found.
struct Letter {
    content: Content,
    message: String,
}

/// What a record calls for.
enum Call {
    Nothing,
    /// A dead letter because it is no order.
    Undecodable,
    /// A dead letter because the handler refuses it, with this message.
    Refused(String),
}

/// Compares each dead letter with its record and each record with its dead letter.
pub fn check(job: &Job) -> Result<()> {
    let mut letters = HashMap::new();
    log::read(job, &job.dead, |message| {
        let (place, letter) = letter(job, message).map_err(|error| at(message, error))?;
        match letters.insert(place, letter) {
            Some(_) => Err(at(message, format!("a second dead letter of {place:?}"))),
            None => Ok(()),
        }
    })?;
    log::read(job, &job.topic, |message| {
        let letter = letters.remove(&(message.partition(), message.offset()));
        compare(message, letter).map_err(|error| at(message, error))
    })?;
    match letters.keys().next() {
        None => Ok(()),
        Some(place) => Err(format!("{} dead letters of records that are not there: {place:?}", letters.len()).into()),
    }
}

fn at(message: &BorrowedMessage<'_>, error: impl Display) -> Box<dyn std::error::Error + Send + Sync> {
    format!("{}/{}/{}: {error}", message.topic(), message.partition(), message.offset()).into()
}

/// Takes a dead letter apart: partition and offset of its record, and what is left without its context.
fn letter(job: &Job, message: &BorrowedMessage<'_>) -> Result<((i32, i64), Letter)> {
    let mut content = content(message);
    let mut context = Context::new();
    content.headers.retain(|(name, value)| {
        let ours = is_context(name);
        if ours {
            context.insert(name.clone(), value.clone().unwrap_or_default());
        }
        !ours
    });
    let claim = if context.contains_key(spring::TOPIC) { spring::claim(&context)? } else { claim(&context)? };
    if claim.topic != job.topic {
        return Err(format!("says topic {:?}", claim.topic).into());
    }
    Ok((claim.place, Letter { content, message: claim.message }))
}

/// What a dead letter's context says.
struct Claim {
    topic: String,
    place: (i32, i64),
    message: String,
}

/// The headers by name.
type Context = HashMap<String, Vec<u8>>;

fn claim(context: &Context) -> Result<Claim> {
    let text = |name| get(context, name).map(|value| String::from_utf8_lossy(value).into_owned());
    let place = (text(names::PARTITION)?.parse()?, text(names::OFFSET)?.parse()?);
    Ok(Claim { topic: text(names::TOPIC)?, place, message: text(names::MESSAGE)? })
}

fn get<'a>(context: &'a Context, name: &str) -> Result<&'a [u8]> {
    context.get(name).map(Vec::as_slice).ok_or_else(|| format!("has no header {name}").into())
}

/// The headers of Spring Kafka.
mod spring {
    use super::{Claim, Context, Result, get};

    pub const PREFIX: &str = "kafka_dlt-";
    pub const TOPIC: &str = "kafka_dlt-original-topic";

    pub fn claim(context: &Context) -> Result<Claim> {
        let text = |name| get(context, name).map(|value| String::from_utf8_lossy(value).into_owned());
        let partition = i32::from_be_bytes(get(context, "kafka_dlt-original-partition")?.try_into()?);
        let offset = i64::from_be_bytes(get(context, "kafka_dlt-original-offset")?.try_into()?);
        // The message is the wrapper's; the cause's is in the stack trace.
        let message = text("kafka_dlt-exception-stacktrace")?;
        Ok(Claim { topic: text(TOPIC)?, place: (partition, offset), message })
    }
}

/// Whether a header was added to the original ones: the records themselves have none of these names.
fn is_context(name: &str) -> bool {
    ["__dlq.errors.", "bezoar.", spring::PREFIX].iter().any(|prefix| name.starts_with(prefix))
}

fn content(message: &BorrowedMessage<'_>) -> Content {
    let headers = message.headers().into_iter().flat_map(|headers| headers.iter());
    Content {
        key: message.key().map(<[u8]>::to_vec),
        value: message.payload().map(<[u8]>::to_vec),
        headers: headers.map(|header| (header.key.to_owned(), header.value.map(<[u8]>::to_vec))).collect(),
    }
}

/// What the jobs' handlers must make of a record, found out anew rather than taken from how the topic was filled.
fn call(value: &[u8]) -> Call {
    match serde_json::from_slice::<Order>(value) {
        Err(_) => Call::Undecodable,
        Ok(order) if order.amount < 0 => Call::Refused(format!("amount {} is negative", order.amount)),
        Ok(_) => Call::Nothing,
    }
}

fn compare(message: &BorrowedMessage<'_>, letter: Option<Letter>) -> Result<()> {
    let call = call(message.payload().unwrap_or_default());
    let letter = match (&call, letter) {
        (Call::Nothing, None) => return Ok(()),
        (Call::Nothing, Some(_)) => return Err("is fine and has a dead letter".into()),
        (_, None) => return Err("has no dead letter".into()),
        (_, Some(letter)) => letter,
    };
    let original = content(message);
    if letter.content != original {
        return Err(format!("its dead letter differs: {:?} instead of {original:?}", letter.content).into());
    }
    match call {
        Call::Refused(text) if !letter.message.contains(&text) => {
            Err(format!("refused, but its dead letter says {:?}", letter.message).into())
        }
        Call::Undecodable if letter.message.contains("is negative") => {
            Err(format!("undecodable, but its dead letter says {:?}", letter.message).into())
        }
        _ => Ok(()),
    }
}
