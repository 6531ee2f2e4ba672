use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use uuid::Uuid;

use super::ledger::{At, Ledger};
use super::original::{self, Need};
use super::target::{choose, may_fetch, warning};
use super::targets::{self, Targets};
use crate::broker::Ports;
use crate::dead_letter::names;
use crate::isolation::guard::guarded;
use crate::record::{Header, ProducerRecord, RecordId, TopicPartition};
use crate::replay::marks::{Known, Lineage, Mark, Outcome as Marked};
use crate::replay::reader::{is_failure_header, strip};
use crate::replay::{Convention, Entry, Fixed, ReplayError, ReplayOptions, Skip};

/// A letter that is to be sent.
pub(super) struct Job {
    pub(super) at: RecordId,
    /// Its short id.
    pub(super) id: Option<String>,
    /// Until it is sent.
    pub(super) record: Option<ProducerRecord>,
    pub(super) lineage: Lineage,
    pub(super) warning: Option<String>,
    /// Whether an earlier run may have sent it.
    pub(super) in_doubt: bool,
    /// The mark before the claim.
    pub(super) before: Option<Mark>,
    /// What was known of it when the record was made.
    pub(super) known: Known,
    /// When its claim was last written.
    pub(super) claimed: Option<Instant>,
    /// Whether another run has it, or has resolved it.
    pub(super) is_lost: bool,
    /// What came of sending it.
    pub(super) outcome: Option<Marked>,
}

impl Job {
    /// Where it is sent.
    pub(super) fn target(&self) -> &TopicPartition {
        &self.lineage.target
    }
}

/// What is to be done with a letter.
pub(super) enum Decision {
    Skip(Skip, Option<String>),
    Fail(String, Option<String>),
    Send(Box<Job>),
}

/// Decides what is sent of a letter, and where.
pub(super) async fn prepare(
    ports: &Ports,
    (ledger, targets): (&mut Ledger, &mut Targets),
    options: &ReplayOptions,
    (at, mut entry): (At, Entry),
) -> Result<Decision, ReplayError> {
    let (topic, place) = at;
    let marks = ledger.marks(topic);
    entry.state = marks.state(place.partition, place.offset);
    if let Some(result) = entry.state.result().filter(|_| entry.state.is_resolved() && !options.again) {
        return Ok(Decision::Skip(Skip::Resolved(result), None));
    }
    let known = marks.known(place);
    let before = marks.mark(place, marks.topic_id(), &ledger.run);
    let count = entry.letter.replay_count.max(known.count);
    if count >= options.max_replays {
        return Ok(Decision::Skip(Skip::Parked(count), None));
    }
    let reading: Vec<Arc<str>> = ledger.topics().cloned().collect();
    let name = Arc::clone(&reading[topic]);
    let target = match choose((&name, entry.letter.origin.topic.as_ref()), &reading, options) {
        Ok(target) => target,
        Err(skip) => {
            let target = options.target.as_ref().or(entry.letter.origin.topic.as_ref()).map(ToString::to_string);
            return Ok(Decision::Skip(skip, target));
        }
    };
    let told = Some(target.to_string());
    let facts = match targets.look(&target).await? {
        Ok(facts) => facts,
        Err(reason) => return Ok(Decision::Fail(reason, told)),
    };
    let mut warning = warning(&target);
    let may_read = |source: &str| may_fetch(&name, source, &reading, options);
    let content = match content(ports, &entry, may_read, &mut warning).await {
        Ok(content) => content,
        Err(reason) => return Ok(Decision::Fail(reason, told)),
    };
    let original = content.timestamp;
    let fixed = match fix(options, &entry, content.fixed()) {
        Ok(fixed) => fixed,
        Err(reason) => return Ok(Decision::Fail(format!("the fix failed: {reason}"), told)),
    };
    let random = |below| rand::random_range(0..below);
    let partition = targets::partition(entry.letter.origin.partition, fixed.key.as_ref(), facts.partitions, random);
    let to = TopicPartition::new(Arc::clone(&target), partition);
    if options.dry_run {
        return Ok(Decision::Skip(Skip::DryRun(to.to_string()), Some(to.to_string())));
    }
    let (timestamp, too_old) = targets::timestamp(options.timestamp, original, (now(), facts.retention));
    if too_old {
        let kept = format!("its timestamp is so old that {target} would not keep it: it gets the present time");
        warning = Some(warning.map_or(kept.clone(), |warning| format!("{warning}; {kept}")));
    }
    let origin = match ledger.first_origin(topic, &entry.letter).await? {
        Some(first) => Some(first),
        None => entry.letter.origin.record(),
    };
    let lineage = Lineage {
        replay_id: known.replay_id.unwrap_or_else(Uuid::new_v4),
        target: to,
        origin,
        count: count + 1,
        also_at: known.also_at.clone(),
        maybe_at: known.maybe_at.clone(),
    };
    let mut headers = strip(fixed.headers, Convention::Unrecognized);
    headers.extend([
        Header::new(names::REPLAY_COUNT, lineage.count.to_string()),
        Header::new(names::REPLAY_OF, entry.at.to_string()),
        Header::new(names::REPLAY_ID, lineage.replay_id.to_string()),
    ]);
    let record = ProducerRecord {
        topic: target,
        partition: Some(partition),
        key: fixed.key,
        value: fixed.value,
        headers,
        timestamp,
    };
    let (id, in_doubt) = (entry.letter.id(), known.in_doubt);
    Ok(Decision::Send(Box::new(Job {
        at: entry.at,
        id,
        record: Some(record),
        lineage,
        warning,
        in_doubt,
        before,
        known,
        claimed: None,
        is_lost: false,
        outcome: None,
    })))
}

/// The original record, as far as it is to be sent.
struct Content {
    key: Option<bytes::Bytes>,
    value: Option<bytes::Bytes>,
    headers: Vec<Header>,
    timestamp: Option<i64>,
}

impl Content {
    fn fixed(self) -> Fixed {
        Fixed { key: self.key, value: self.value, headers: self.headers }
    }
}

/// The record itself: as the dead letter has it, or fetched again.
async fn content(
    ports: &Ports,
    entry: &Entry,
    may_read: impl Fn(&str) -> bool,
    warning: &mut Option<String>,
) -> Result<Content, String> {
    let letter = &entry.letter;
    let need = original::need(letter);
    if need != Need::Nothing {
        match original::fetch(ports, letter, may_read).await {
            Ok(record) => {
                return Ok(Content {
                    key: record.key_bytes(),
                    value: record.value_bytes(),
                    headers: strip(record.owned_headers().collect(), Convention::Unrecognized),
                    timestamp: Some(record.timestamp()),
                });
            }
            Err(reason) if need == Need::Preferred => {
                *warning = Some(format!("it may lack what its dead letter has not: {reason}"));
            }
            Err(reason) => {
                return Err(format!(
                    "the dead letter does not hold the whole record, and the original cannot be had: {reason}"
                ));
            }
        }
    }
    let mut headers = letter.headers.clone();
    // Other frameworks add to what is there, so that attempts at retries may be counted beside the dead letter's own headers.
    if !matches!(letter.convention, Convention::Bezoar | Convention::Envelope) {
        headers.retain(|header| !is_failure_header(&header.name));
    }
    Ok(Content { key: letter.key.clone(), value: letter.value.clone(), headers, timestamp: letter.origin.timestamp })
}

fn fix(options: &ReplayOptions, entry: &Entry, content: Fixed) -> Result<Fixed, String> {
    let Some(fix) = &options.fix else { return Ok(content) };
    guarded(|| fix(entry, content)).unwrap_or_else(|report| Err(format!("it panicked: {}", report.message)))
}

/// Milliseconds since the Unix epoch.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
