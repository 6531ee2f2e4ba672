use std::time::Duration;

use crate::broker::{OffsetSpec, Ports};
use crate::record::{Record, RecordId};
use crate::replay::reading::{RangeReader, Span};
use crate::replay::{DeadLetter, Fidelity, ReplayError};

/// Whether a dead letter's record can be sent as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// It can.
    Nothing,
    /// What it holds may lack something: the original is sent where it can be had.
    Preferred,
    /// It lacks something: only the original can be sent.
    Original,
}

pub(super) fn need(letter: &DeadLetter) -> Need {
    match letter.fidelity {
        Fidelity::Exact | Fidelity::Rebuilt => Need::Nothing,
        Fidelity::Uncertain if letter.value.is_some() => Need::Preferred,
        Fidelity::Uncertain | Fidelity::Reduced(_) | Fidelity::Lossy => Need::Original,
    }
}

/// How long a record is waited for that the log should hold.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much is fetched for it, unless it is larger, in bytes.
const FEED_BYTES: usize = 64 << 10;

/// Fetches the record that a dead letter was made of. The error says why it cannot be had, as a clause. `may_read` tells
/// of which topics it may be.
pub(super) async fn fetch(
    ports: &Ports,
    letter: &DeadLetter,
    may_read: impl Fn(&str) -> bool,
) -> Result<Record, String> {
    let Some(at) = letter.origin.record() else { return Err("where it came from is not known".to_owned()) };
    if !may_read(at.partition.topic()) {
        return Err(format!(
            "it says that it came from {at}, and its topic's name does not vouch for that: a source must be an allowed target"
        ));
    }
    let read = read(ports, &at);
    let record = match tokio::time::timeout(PATIENCE, read).await {
        Ok(Ok(record)) => record?,
        Ok(Err(error)) => return Err(format!("{at} cannot be read: {error}")),
        Err(_) => return Err(format!("{at} did not come within {}", humantime::format_duration(PATIENCE))),
    };
    verify(letter, &record)?;
    Ok(record)
}

async fn read(ports: &Ports, at: &RecordId) -> Result<Result<Record, String>, ReplayError> {
    let found = ports.admin.topics(vec![at.partition.topic().to_owned()]).await?.pop().flatten();
    let Some(topic) = found else {
        return Ok(Err(format!("topic {:?} does not exist any more", at.partition.topic())));
    };
    if let (Some(then), Some(now)) = (at.topic_id, topic.id)
        && then != now
    {
        return Ok(Err(format!("topic {:?} was deleted and created anew since", at.partition.topic())));
    }
    if !(0..topic.partitions).contains(&at.partition.partition()) {
        return Ok(Err(format!("there is no partition {}", at.partition)));
    }
    let asked = [OffsetSpec::Earliest, OffsetSpec::Latest].map(|spec| (at.partition.clone(), spec)).to_vec();
    let bounds = ports.admin.offsets(asked).await?;
    if bounds.first().is_none_or(|start| at.offset < *start) {
        return Ok(Err(format!("{at} is gone by retention")));
    }
    if bounds.last().is_none_or(|end| at.offset >= *end) {
        return Ok(Err(format!("{at} is past the end of its log")));
    }
    let span = Span { partition: at.partition.clone(), topic_id: topic.id, start: at.offset, end: at.offset + 1 };
    let mut reader = RangeReader::new(ports, [span], FEED_BYTES);
    let none = || Ok(Err(format!("there is no record at {at} any more")));
    let Some(piece) = reader.next().await else { return none() };
    let piece = piece?;
    if let Some(reason) = piece.batch.damage() {
        return Ok(Err(format!("{at} cannot be read: {reason}")));
    }
    piece.iter().next().map_or_else(none, |record| Ok(Ok(record)))
}

/// Whether a record is the one that a dead letter was made of, as far as the dead letter tells: its timestamp, and what it still
/// holds of the original.
fn verify(letter: &DeadLetter, record: &Record) -> Result<(), String> {
    let differs = |what: &str| {
        Err(format!("{} has another {what} than the dead letter tells of: it is not the original", record.id()))
    };
    if letter.origin.timestamp.is_some_and(|timestamp| timestamp != record.timestamp()) {
        return differs("timestamp");
    }
    let (key, value, headers) = match letter.fidelity {
        Fidelity::Exact => (true, true, true),
        Fidelity::Reduced(rung) => (rung.keeps_key(), rung.keeps_value(), rung.keeps_headers()),
        // What is null may have been left out; the headers always are.
        Fidelity::Uncertain => (letter.key.is_some(), letter.value.is_some(), false),
        // Its key is text as well, which is compared below.
        Fidelity::Lossy | Fidelity::Rebuilt => (false, false, false),
    };
    if key && letter.key.as_deref() != record.key() {
        return differs("key");
    }
    if value && letter.value.as_deref() != record.value() {
        return differs("value");
    }
    let known = |header: &crate::record::Header| record.owned_headers().any(|other| other == *header);
    if headers && !letter.headers.iter().all(known) {
        return differs("headers");
    }
    if letter.fidelity == Fidelity::Lossy {
        let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        if letter.key.is_some() && text(letter.key.as_deref()) != text(record.key()) {
            return differs("key");
        }
        if letter.value.is_some() && text(letter.value.as_deref()) != text(record.value()) {
            return differs("value");
        }
    }
    Ok(())
}
