use std::backtrace::Backtrace;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::context::PartitionContext;
use super::error::PartitionError;
use super::letters::Letters;
use super::ownership::Ownership;
use crate::classifier::{ClassifierMessage, Evidence, FailureKind, Verdict};
use crate::dead_letter::backtrace::render;
use crate::dead_letter::{DeadLetterContext, Job, Redaction, Rung};
use crate::event::{Event, Exhausted, GivenUp};
use crate::isolation::guard::guarded;
use crate::offsets::OffsetsMessage;
use crate::policy::{Action, Category, Decision, valid_topic_name};
use crate::record::{Header, Record};

/// What became of a failed delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Judged {
    /// The same record is delivered again after this wait.
    Retry(Duration),
    /// The record is out of the partition's way: its dead letter is among those to be handed over, or it was skipped.
    Passed,
    /// The policy says to stop here.
    Stop(String),
    /// The partition is not this consumer's any more: whoever has it now delivers the record.
    Withheld,
}

/// Counts a failure, has it classified, and does what the verdict says, except waiting.
///
/// Must run on a lane: the user's router and redactor are called here.
pub(crate) async fn judge(
    context: &PartitionContext,
    letters: &mut Letters,
    record: &Record,
    evidence: Box<Evidence>,
    mut backtrace: Option<Backtrace>,
) -> Result<Judged, PartitionError> {
    let retry = letters.ownership().failed(record.offset(), SystemTime::now());
    let (verdict, mut evidence) = ask(context, evidence, retry.attempts).await?;
    context.events.meter().failed(record.partition(), verdict.category);
    // Classified by the true text; only the redacted one goes on, into events and logs too.
    let headers = redact(context, record, &mut evidence, &mut backtrace);
    if matches!(evidence.kind, FailureKind::Panic | FailureKind::Timeout) {
        context.events.emit(Event::HandlerLost {
            record: record.id(),
            fault: evidence.error_type.clone(),
            message: evidence.message.clone(),
            location: evidence.location.clone(),
        });
    }
    match verdict.decision {
        Decision::Retry { after } => {
            context.events.emit(Event::Retrying {
                record: record.id(),
                category: verdict.category,
                error_type: evidence.error_type,
                message: evidence.message,
                attempt: retry.attempts,
                max_attempts: verdict.max_attempts,
                backoff: after,
            });
            Ok(Judged::Retry(after))
        }
        Decision::Exhausted(Action::DeadLetter) => {
            if !letters.ownership().until_ours().await {
                return Ok(Judged::Withheld);
            }
            let mut failure = DeadLetterContext::of(record, verdict.category, *evidence, letters.fingerprints());
            failure.attempts = Some(retry.attempts);
            failure.first_failed_at = Some(millis(retry.first_failed));
            failure.last_failed_at = Some(millis(retry.last_failed));
            let topic = exhausted(context, record, &failure);
            let job = Job {
                ownership: Arc::clone(letters.ownership()),
                record: record.clone(),
                size: Job::size_of(record),
                headers,
                context: failure,
                backtrace,
                alert: verdict.alert,
                page: verdict.page,
                rung: Rung::Full,
                alone: false,
            };
            letters.push(topic, Box::new(job))?;
            Ok(Judged::Passed)
        }
        Decision::Exhausted(Action::Skip) => {
            let (record_id, category) = (record.id(), verdict.category);
            context.events.emit(Event::Skipped { record: record_id, category, message: evidence.message.clone() });
            alert(context, record, verdict, evidence.message);
            settle(context, letters.ownership(), record.offset(), record.offset() + 1)?;
            Ok(Judged::Passed)
        }
        Decision::Exhausted(Action::Stop) => {
            let reason = format!(
                "record {} failed ({}, attempt {}) and the policy of {} failures is to stop: {}",
                record.id(),
                evidence.error_type,
                retry.attempts,
                verdict.category,
                evidence.message
            );
            alert(context, record, verdict, evidence.message);
            Ok(Judged::Stop(reason))
        }
    }
}

/// Alerts where the policy asks for it. For dead letters it waits for the acknowledgement.
fn alert(context: &PartitionContext, record: &Record, verdict: Verdict, message: String) {
    if verdict.alert || verdict.page {
        let (category, page) = (verdict.category, verdict.page);
        context.events.alert(GivenUp { record: record.id(), category, page, message, dead_letter: None });
    }
}

/// Has the user's redactor go over what is said of the failure; returns the headers that it left. If it panics, all
/// of it is withheld.
fn redact(
    context: &PartitionContext,
    record: &Record,
    evidence: &mut Evidence,
    backtrace: &mut Option<Backtrace>,
) -> Option<Vec<Header>> {
    let redactor = context.hooks.redactor.as_ref()?;
    if let Some(backtrace) = backtrace.take() {
        let rendered = render(&backtrace);
        evidence.backtrace =
            Some(evidence.backtrace.take().map_or(rendered.clone(), |text| format!("{text}\n{rendered}")));
    }
    let mut headers: Vec<Header> = record.owned_headers().collect();
    let redaction =
        Redaction { message: &mut evidence.message, backtrace: &mut evidence.backtrace, headers: &mut headers };
    match guarded(|| redactor(&mut { redaction })) {
        Ok(()) => Some(headers),
        Err(report) => {
            context.events.emit(Event::HookFailed { hook: "redactor", message: report.message });
            evidence.message = "withheld, since the redactor panicked".to_owned();
            evidence.backtrace = None;
            Some(Vec::new())
        }
    }
}

async fn ask(
    context: &PartitionContext,
    evidence: Box<Evidence>,
    attempt: u32,
) -> Result<(Verdict, Box<Evidence>), PartitionError> {
    let answer = context.classifier.call(|reply| ClassifierMessage::Judge { evidence, attempt, reply }, None).await;
    match answer {
        Ok(ractor::rpc::CallResult::Success(judged)) => Ok(judged),
        _ => Err(PartitionError::Infrastructure { reason: "the classifier actor is gone".to_owned() }),
    }
}

/// Tells the offsets actor that `[from, to)` are settled.
pub(crate) fn settle(
    context: &PartitionContext,
    ownership: &Ownership,
    from: i64,
    to: i64,
) -> Result<(), PartitionError> {
    tell(context, OffsetsMessage::Settled { partition: ownership.partition.clone(), epoch: ownership.epoch, from, to })
}

/// Tells the offsets actor.
pub(super) fn tell(context: &PartitionContext, message: OffsetsMessage) -> Result<(), PartitionError> {
    context
        .offsets
        .cast(message)
        .map_err(|_| PartitionError::Infrastructure { reason: "the offsets actor is gone".to_owned() })
}

/// Tells that a record is given up. Returns the topic that its dead letter goes to.
fn exhausted(context: &PartitionContext, record: &Record, failure: &DeadLetterContext) -> String {
    let topic = route(context, record, failure.category);
    context.events.exhausted(Exhausted {
        record: &failure.source,
        category: failure.category,
        error_type: &failure.error_type,
        message: &failure.message,
        attempts: failure.attempts.unwrap_or(1),
        dead_letter_topic: &topic,
    });
    topic
}

/// The user's choice of topic, or the configured one.
fn route(context: &PartitionContext, record: &Record, category: Category) -> String {
    let configured = || context.topics.topic_for(record.partition().topic(), category);
    let Some(router) = &context.hooks.router else { return configured() };
    let refused = match guarded(|| router(record, category)) {
        Ok(None) => return configured(),
        Ok(Some(topic)) if context.sources.contain(&topic) => {
            format!("it chose {topic:?}, which this consumer reads: its dead letters would go round for ever")
        }
        Ok(Some(topic)) => match valid_topic_name(&topic) {
            Ok(()) => return topic,
            Err(problem) => format!("it chose {topic:?}, but {problem}"),
        },
        Err(report) => format!("it panicked: {}", report.message),
    };
    context.events.emit(Event::HookFailed { hook: "dead-letter router", message: refused });
    configured()
}

fn millis(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}
