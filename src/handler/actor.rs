use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use super::{Delivery, FactoryContext, FactoryError, Failure, Handler, HandlerFactory};
use crate::isolation::guard::{Guarded, PanicReport, resume};

/// What a handler that is an actor receives: the message, its delivery, and the port to answer on.
///
/// The record is settled by the answer, not by the end of `handle`: an actor may keep the port and answer later. No
/// further record of the partition is delivered before.
#[derive(Debug)]
pub struct Deliver<M> {
    /// The decoded message.
    pub message: M,
    /// The delivery.
    pub delivery: Delivery,
    /// Where to answer. Dropped without an answer, it says that the actor could not go on: the actor is made anew
    /// and the record delivered again, within the restart policy; the record is not blamed.
    pub reply: RpcReplyPort<Result<(), Failure>>,
}

/// The error of a handler that cannot go on through no fault of the record: the handler is made anew by its factory
/// and the record delivered again, within the restart policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the handler cannot go on: {reason}")]
pub struct HandlerGone {
    /// Why.
    pub reason: String,
}

/// A factory of handlers that are ractor actors.
#[derive(Debug, Clone)]
pub struct ActorFactory<F>(F);

/// Makes handlers of ractor actors: `make` returns the actor and its arguments, once per partition and restart.
///
/// Each actor is spawned, unnamed, on its partition's lane; its `handle` is polled under the same panic guard as other
/// handlers. It stops with the partition actor.
pub fn actor<F, A, M>(make: F) -> ActorFactory<F>
where
    F: Fn(&FactoryContext) -> (A, A::Arguments) + Send + Sync + 'static,
    A: Actor<Msg = Deliver<M>>,
    M: Send + 'static,
{
    ActorFactory(make)
}

impl<F, A, M> HandlerFactory for ActorFactory<F>
where
    F: Fn(&FactoryContext) -> (A, A::Arguments) + Send + Sync + 'static,
    A: Actor<Msg = Deliver<M>>,
    M: Send + 'static,
{
    type Handler = ActorHandler<M>;

    async fn create(&self, context: FactoryContext) -> Result<ActorHandler<M>, FactoryError> {
        let (actor, arguments) = (self.0)(&context);
        let watch = Watch::default();
        let (actor, _join) = Actor::spawn(None, Watched { actor, watch: watch.clone() }, arguments).await?;
        Ok(ActorHandler { actor, watch })
    }
}

/// What is seen of a user's actor, for the handler that waits for its answer.
#[derive(Debug, Clone, Default)]
struct Watch(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    /// Offset and attempt of the delivery that the actor received last.
    received: Option<(i64, u32)>,
    /// Its panic, after which it is no more.
    panic: Option<Box<PanicReport>>,
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handler that hands each message to an actor and waits for its answer.
#[derive(Debug)]
pub struct ActorHandler<M: Send + 'static> {
    actor: ActorRef<Deliver<M>>,
    watch: Watch,
}

impl<M: Send + 'static> Handler for ActorHandler<M> {
    type Message = M;
    type Error = Failure;

    async fn handle(&mut self, message: M, delivery: Delivery) -> Result<(), Failure> {
        let this = (delivery.offset(), delivery.attempt());
        let (answer, answered) = ractor::concurrency::oneshot();
        let sent = self.actor.cast(Deliver { message, delivery, reply: answer.into() });
        if sent.is_ok()
            && let Ok(result) = answered.await
        {
            return result;
        }
        let (received, panic) = {
            let mut seen = self.watch.lock();
            (seen.received, seen.panic.take())
        };
        match panic {
            Some(report) if received == Some(this) => resume(report),
            // After it had answered for the record before, say: this one is not to blame.
            Some(report) => {
                let place = report.location.as_deref().unwrap_or("an unknown place");
                let reason = format!("its actor panicked at {place} before it received the record: {}", report.message);
                Err(Failure::new(HandlerGone { reason }))
            }
            None => Err(Failure::new(HandlerGone { reason: "its actor stopped or dropped the reply port".into() })),
        }
    }
}

impl<M: Send + 'static> Drop for ActorHandler<M> {
    fn drop(&mut self) {
        // Not `stop`: an actor that hangs in a message would live on beside its successor.
        self.actor.kill();
    }
}

/// A user's actor with its calls under the panic guard, so that a panic keeps its place and backtrace.
struct Watched<A> {
    actor: A,
    watch: Watch,
}

impl<A> Watched<A> {
    /// Polls a call of the user's actor under the guard and puts a panic's report away.
    async fn guard<T>(
        &self,
        call: impl Future<Output = Result<T, ActorProcessingErr>> + Send,
    ) -> Result<T, ActorProcessingErr> {
        let mut call = pin!(Guarded::new(call));
        let outcome = poll_fn(|cx| {
            // Locked while polling: a reply port dropped by the unwinding wakes the handler before the report is
            // there; it then waits here for the rest of this poll.
            let mut seen = self.watch.lock();
            call.as_mut().poll(cx).map(|outcome| {
                outcome.map_err(|report| {
                    let message = report.message.clone();
                    seen.panic = Some(report);
                    message
                })
            })
        });
        outcome.await.unwrap_or_else(|message| Err(format!("panicked: {message}").into()))
    }
}

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl<A: Actor<Msg = Deliver<M>>, M: Send + 'static> Actor for Watched<A> {
    type Msg = Deliver<M>;
    type State = A::State;
    type Arguments = A::Arguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Deliver<M>>,
        arguments: A::Arguments,
    ) -> Result<A::State, ActorProcessingErr> {
        self.guard(async { self.actor.pre_start(myself, arguments).await }).await
    }

    async fn post_start(&self, myself: ActorRef<Deliver<M>>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.guard(async { self.actor.post_start(myself, state).await }).await
    }

    async fn post_stop(&self, myself: ActorRef<Deliver<M>>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.guard(async { self.actor.post_stop(myself, state).await }).await
    }

    async fn handle(
        &self,
        myself: ActorRef<Deliver<M>>,
        message: Deliver<M>,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.watch.lock().received = Some((message.delivery.offset(), message.delivery.attempt()));
        self.guard(async { self.actor.handle(myself, message, state).await }).await
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Deliver<M>>,
        event: SupervisionEvent,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.guard(async { self.actor.handle_supervisor_evt(myself, event, state).await }).await
    }
}
