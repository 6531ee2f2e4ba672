use std::backtrace::Backtrace;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::context::PartitionContext;
use super::error::PartitionError;
use super::ownership::{Ownership, Retry};
use crate::classifier::{ClassifierMessage, Evidence, Verdict};
use crate::dead_letter::{DeadLetterContext, DeadLetterMessage, Job, Redaction, Rung};
use crate::event::Event;
use crate::isolation::guard::guarded;
use crate::offsets::OffsetsMessage;
use crate::policy::{Action, Decision};
use crate::record::Record;

/// What became of a failed delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Judged {
    /// The same record is delivered again after this wait.
    Retry(Duration),
    /// The record is out of the partition's way: its dead letter is handed over, or it was skipped.
    Passed,
    /// The policy says to stop here.
    Stop(String),
}

/// Counts a failure, has it classified, and does what the verdict says, except waiting.
///
/// Must run on a lane: the user's router and redactor are called here.
pub(crate) async fn judge(
    context: &PartitionContext,
    ownership: &Arc<Ownership>,
    record: &Record,
    evidence: Evidence,
    backtrace: Option<Backtrace>,
) -> Result<Judged, PartitionError> {
    let retry = ownership.failed(record.offset(), SystemTime::now());
    let verdict = ask(context, &evidence, retry.attempts).await?;
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
            dead_letter(context, ownership, record, evidence, verdict, retry, backtrace)?;
            Ok(Judged::Passed)
        }
        Decision::Exhausted(Action::Skip) => {
            let (record_id, category) = (record.id(), verdict.category);
            context.events.emit(Event::Skipped { record: record_id, category, message: evidence.message });
            settle(context, ownership, record.offset(), record.offset() + 1)?;
            Ok(Judged::Passed)
        }
        Decision::Exhausted(Action::Stop) => Ok(Judged::Stop(format!(
            "record {} failed ({}, attempt {}) and the policy of {} failures is to stop: {}",
            record.id(),
            evidence.error_type,
            retry.attempts,
            verdict.category,
            evidence.message
        ))),
    }
}

async fn ask(context: &PartitionContext, evidence: &Evidence, attempt: u32) -> Result<Verdict, PartitionError> {
    let evidence = Box::new(evidence.clone());
    let answer =
        context.classifier.call(|reply| ClassifierMessage::Judge { evidence, attempt, reply }, None).await;
    match answer {
        Ok(ractor::rpc::CallResult::Success(verdict)) => Ok(verdict),
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
    let message =
        OffsetsMessage::Settled { partition: ownership.partition.clone(), epoch: ownership.epoch, from, to };
    context
        .offsets
        .cast(message)
        .map_err(|_| PartitionError::Infrastructure { reason: "the offsets actor is gone".to_owned() })
}

fn dead_letter(
    context: &PartitionContext,
    ownership: &Arc<Ownership>,
    record: &Record,
    evidence: Evidence,
    verdict: Verdict,
    retry: Retry,
    backtrace: Option<Backtrace>,
) -> Result<(), PartitionError> {
    let category = verdict.category;
    let topic = route(context, record, category);
    context.events.emit(Event::Exhausted {
        record: record.id(),
        category,
        error_type: evidence.error_type.clone(),
        message: evidence.message.clone(),
        attempts: retry.attempts,
        dead_letter_topic: topic.clone(),
    });
    let mut letter = DeadLetterContext::new(record, category, &evidence);
    letter.attempts = retry.attempts;
    letter.first_failed_at = millis(retry.first_failed);
    letter.last_failed_at = millis(retry.last_failed);
    let job = Job {
        ownership: Arc::clone(ownership),
        record: record.clone(),
        context: letter,
        backtrace,
        topic,
        alert: verdict.alert,
        page: verdict.page,
        rung: Rung::Full,
        alone: false,
    };
    ownership.dead_letter_sent();
    context.dead_letters.cast(DeadLetterMessage::Publish(Box::new(job))).map_err(|_| {
        ownership.dead_letter_settled();
        PartitionError::Infrastructure { reason: "the dead-letter actor is gone".to_owned() }
    })
}

/// The user's choice of topic, or the configured one.
fn route(context: &PartitionContext, record: &Record, category: crate::policy::Category) -> String {
    let configured = || context.topics.topic_for(record.partition().topic(), category);
    let Some(router) = &context.hooks.router else { return configured() };
    match guarded(|| router(record, category)) {
        Ok(chosen) => chosen.unwrap_or_else(configured),
        Err(report) => {
            context.events.emit(Event::HookPanicked { hook: "dead-letter router", message: report.message });
            configured()
        }
    }
}

fn millis(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}
