use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::SystemTime;

use tokio::time::Instant;

use super::context::Hooks;
use super::error::Fault;
use super::ownership::Ownership;
use super::patience::Patience;
use super::trace;
use crate::classifier::{Evidence, FailureInfo, FailureKind};
use crate::event::{Event, Events};
use crate::handler::chain::errors;
use crate::handler::{Decoder, Delivery, Failure, Handler, HandlerGone, IntoFailure, OriginError, Outbox};
use crate::isolation::guard::{Guarded, guarded};
use crate::policy::Category;
use crate::producer::ProducerError;
use crate::record::{Record, TopicPartition};

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
    /// It was decoded, and not given to the handler, since the partition may not be this consumer's any more.
    Withheld,
}

/// One delivery: a record, and all that takes part. The record is moved, not cloned, and its [`Delivery`] made where it is
/// used: either costs as much as the guard.
pub(crate) struct Attempt<'a, D, H> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) events: &'a Events,
    pub(crate) decoder: &'a mut D,
    pub(crate) handler: &'a mut H,
    pub(crate) outbox: &'a Arc<Outbox>,
    pub(crate) patience: &'a mut Patience,
    pub(crate) record: Record,
    /// The record's.
    pub(crate) partition: &'a TopicPartition,
    /// 1 for the first.
    pub(crate) number: u32,
    pub(crate) first_failure: Option<SystemTime>,
    /// Looked at again where decoding took its time; `None` where nobody can take the partition away.
    pub(crate) ownership: Option<&'a Ownership>,
}

impl<D, H> Attempt<'_, D, H>
where
    D: Decoder<H::Message>,
    H: Handler,
{
    /// Decodes the record and has it handled, all under the guard and within the time limit.
    ///
    /// If that does not end at its first poll, `due` is called then, and again when the time has come that it
    /// returned.
    pub(crate) async fn run(self, mut due: impl FnMut(Instant) -> Option<Instant>) -> Delivered {
        let Self {
            hooks,
            events,
            decoder,
            handler,
            outbox,
            patience,
            record,
            partition,
            number,
            first_failure,
            ownership,
        } = self;
        let span = trace::span((hooks, events), &record, number);
        let waited = AtomicBool::new(false);
        let offset = record.offset();
        let failed = |kind, failure| Err(inspect((hooks, events), (partition, offset, number), kind, failure));
        patience.begin();
        let mut attempt = pin!(Guarded::new(async {
            let record = record;
            let message = match decoder.decode(&record).await {
                Ok(message) => message,
                Err(error) => return failed(FailureKind::Decode, error.into_failure()),
            };
            if waited.load(Ordering::Relaxed) && ownership.is_some_and(|ownership| !ownership.is_ours()) {
                return Err(Inspected::Withheld);
            }
            let delivery = Delivery::new(record, number, first_failure, Arc::clone(outbox));
            if let Err(error) = handler.handle(message, delivery).await {
                return failed(FailureKind::Handler, error.into_failure());
            }
            if outbox.has_sent()
                && let Err(error) = outbox.acknowledged(offset, number).await
            {
                return failed(FailureKind::Handler, Failure::new(error));
            }
            Ok(())
        }));
        let ended = poll_fn(|cx| {
            let polled = {
                let _entered = span.as_ref().map(|span| span.enter());
                attempt.as_mut().poll(cx)
            };
            match polled {
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
                Poll::Pending => {
                    if !waited.swap(true, Ordering::Relaxed)
                        && let Some(ownership) = ownership
                    {
                        ownership.wait_for_delivery(true);
                    }
                    patience.poll(cx, &mut due).map(|()| None)
                }
            }
        });
        match ended.await {
            Some(Ok(Ok(()))) => Delivered::Handled,
            Some(Ok(Err(Inspected::Failure(evidence)))) => Delivered::Failed(evidence),
            Some(Ok(Err(Inspected::Gone(reason)))) => Delivered::Gone(reason),
            Some(Ok(Err(Inspected::Withheld))) => Delivered::Withheld,
            Some(Err(report)) => Delivered::Lost(Fault::Panic(report)),
            None => Delivered::Lost(Fault::Timeout {
                limit: patience.limit().unwrap_or_default(),
                unacknowledged: outbox.unacknowledged(offset, number),
            }),
        }
    }
}

enum Inspected {
    Failure(Box<Evidence>),
    Gone(String),
    Withheld,
}

/// Turns a failure into plain data. Called under the guard: error types are user code.
fn inspect(
    (hooks, events): (&Hooks, &Events),
    (partition, offset, attempt): (&TopicPartition, i64, u32),
    kind: FailureKind,
    failure: Failure,
) -> Inspected {
    if let Some(gone) = find::<HandlerGone>(&failure) {
        return Inspected::Gone(gone.to_string());
    }
    let mut evidence = Evidence::from_failure(kind, &failure, &hooks.error_types);
    if evidence.stated.is_none() {
        evidence.user = ask_user((hooks, events), (partition, offset, attempt), kind, &failure);
    }
    // What a broker may take or tell later is no fault of the record, whether the handler awaited it or not.
    if evidence.stated.is_none()
        && evidence.user.is_none()
        && (find::<ProducerError>(&failure).is_some_and(ProducerError::is_retriable)
            || find::<OriginError>(&failure).is_some())
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
    (partition, offset, attempt): (&TopicPartition, i64, u32),
    kind: FailureKind,
    failure: &Failure,
) -> Option<Category> {
    let classifier = hooks.classifier.as_ref()?;
    match guarded(|| classifier(&FailureInfo::new(failure, kind, partition, offset, attempt))) {
        Ok(category) => category,
        Err(report) => {
            events.emit(Event::HookFailed { hook: "classifier", message: format!("it panicked: {}", report.message) });
            None
        }
    }
}
