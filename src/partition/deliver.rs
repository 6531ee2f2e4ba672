use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::context::Hooks;
use super::error::Fault;
use crate::classifier::{Evidence, FailureInfo, FailureKind};
use crate::event::{Event, Events};
use crate::handler::chain::errors;
use crate::handler::{Decoder, Delivery, Failure, Handler, HandlerGone, IntoFailure, Outbox};
use crate::isolation::guard::{Guarded, guarded};
use crate::policy::Category;
use crate::producer::ProducerError;
use crate::record::Record;

/// How one delivery ended.
#[derive(Debug)]
pub(crate) enum Delivered {
    /// The record was handled, and what it sent onward is acknowledged.
    Handled,
    /// The decoder or the handler returned an error.
    Failed(Box<Evidence>),
    /// The handler is lost: it panicked or was dropped half-way.
    Lost(Fault),
    /// The handler says that it cannot go on, through no fault of the record.
    Gone(String),
}

/// Decodes a record and has it handled, all under the guard and within the time limit. `on_wait` is called once if the
/// delivery does not end at its first poll.
pub(crate) async fn deliver<D, H>(
    context: (&Hooks, &Events),
    decoder: &mut D,
    handler: &mut H,
    outbox: &Arc<Outbox>,
    (record, delivery): (&Record, Delivery),
    limit: Option<Duration>,
    on_wait: impl FnOnce(),
) -> Delivered
where
    D: Decoder<H::Message>,
    H: Handler,
{
    let number = delivery.attempt();
    let attempt = async {
        let message = match decoder.decode(record).await {
            Ok(message) => message,
            Err(error) => return Err(inspect(context, (record, number), FailureKind::Decode, error.into_failure())),
        };
        if let Err(error) = handler.handle(message, delivery).await {
            return Err(inspect(context, (record, number), FailureKind::Handler, error.into_failure()));
        }
        if let Err(error) = outbox.acknowledged(record.offset(), number).await {
            return Err(inspect(context, (record, number), FailureKind::Handler, Failure::new(error)));
        }
        Ok(())
    };
    match within(Guarded::new(attempt), limit, on_wait).await {
        Some(Ok(Ok(()))) => Delivered::Handled,
        Some(Ok(Err(Inspected::Failure(evidence)))) => Delivered::Failed(evidence),
        Some(Ok(Err(Inspected::Gone(reason)))) => Delivered::Gone(reason),
        Some(Err(report)) => Delivered::Lost(Fault::Panic(Box::new(report))),
        None => Delivered::Lost(Fault::Timeout {
            limit: limit.unwrap_or_default(),
            unacknowledged: outbox.unacknowledged(record.offset(), number),
        }),
    }
}

/// Runs a future for at most `limit`; a future that is ready at its first poll costs no timer.
async fn within<F: Future>(future: F, limit: Option<Duration>, on_wait: impl FnOnce()) -> Option<F::Output> {
    let mut future = pin!(future);
    let first = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
    if let Poll::Ready(output) = first {
        return Some(output);
    }
    on_wait();
    match limit {
        Some(limit) => tokio::time::timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

enum Inspected {
    Failure(Box<Evidence>),
    Gone(String),
}

/// Turns a failure into plain data. Called under the guard: error types are user code.
fn inspect(
    (hooks, events): (&Hooks, &Events),
    (record, attempt): (&Record, u32),
    kind: FailureKind,
    failure: Failure,
) -> Inspected {
    if let Some(gone) = find::<HandlerGone>(&failure) {
        return Inspected::Gone(gone.to_string());
    }
    let mut evidence = Evidence::from_failure(kind, &failure, &hooks.error_types);
    if evidence.stated.is_none() {
        evidence.user = ask_user((hooks, events), (record, attempt), kind, &failure);
    }
    // What a broker may take later is no fault of the record, whether the handler awaited it or not.
    if evidence.stated.is_none()
        && evidence.user.is_none()
        && find::<ProducerError>(&failure).is_some_and(ProducerError::is_retriable)
    {
        evidence.stated = Some(Category::Transient);
    }
    Inspected::Failure(Box::new(evidence))
}

/// The first error of type `E` in a failure's chain.
fn find<E: std::error::Error + 'static>(failure: &Failure) -> Option<&E> {
    errors(failure.error()).find_map(|error| error.downcast_ref())
}

/// The user's classifier has a guard of its own: its panic is not the handler's.
fn ask_user(
    (hooks, events): (&Hooks, &Events),
    (record, attempt): (&Record, u32),
    kind: FailureKind,
    failure: &Failure,
) -> Option<Category> {
    let classifier = hooks.classifier.as_ref()?;
    match guarded(|| classifier(&FailureInfo::new(failure, kind, record.partition(), record.offset(), attempt))) {
        Ok(category) => category,
        Err(report) => {
            events.emit(Event::HookFailed { hook: "classifier", message: format!("it panicked: {}", report.message) });
            None
        }
    }
}
