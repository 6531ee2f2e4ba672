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
        let panic = PanicCell::default();
        let (actor, _join) = Actor::spawn(None, Watched { actor, panic: panic.clone() }, arguments).await?;
        Ok(ActorHandler { actor, panic })
    }
}

/// The last panic of a user's actor, kept for the handler that waits for its answer.
#[derive(Debug, Clone, Default)]
struct PanicCell(Arc<Mutex<Option<PanicReport>>>);

impl PanicCell {
    fn lock(&self) -> MutexGuard<'_, Option<PanicReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handler that hands each message to an actor and waits for its answer.
#[derive(Debug)]
pub struct ActorHandler<M: Send + 'static> {
    actor: ActorRef<Deliver<M>>,
    panic: PanicCell,
}

impl<M: Send + 'static> Handler for ActorHandler<M> {
    type Message = M;
    type Error = Failure;

    async fn handle(&mut self, message: M, delivery: Delivery) -> Result<(), Failure> {
        let (answer, answered) = ractor::concurrency::oneshot();
        let sent = self.actor.cast(Deliver { message, delivery, reply: answer.into() });
        if sent.is_ok()
            && let Ok(result) = answered.await
        {
            return result;
        }
        let report = self.panic.lock().take();
        match report {
            Some(report) => resume(report),
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
    panic: PanicCell,
}

impl<A> Watched<A> {
    /// Polls a call of the user's actor under the guard and puts a panic's report away.
    async fn watch<T>(
        &self,
        call: impl Future<Output = Result<T, ActorProcessingErr>> + Send,
    ) -> Result<T, ActorProcessingErr> {
        let mut call = pin!(Guarded::new(call));
        let outcome = poll_fn(|cx| {
            // Locked while polling: a reply port dropped by the unwinding wakes the handler before the report is
            // there; it then waits here for the rest of this poll.
            let mut last = self.panic.lock();
            call.as_mut().poll(cx).map(|outcome| {
                outcome.map_err(|report| {
                    let message = report.message.clone();
                    *last = Some(report);
                    message
                })
            })
        });
        outcome.await.unwrap_or_else(|message| Err(format!("panicked: {message}").into()))
    }
}

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl<A: Actor> Actor for Watched<A> {
    type Msg = A::Msg;
    type State = A::State;
    type Arguments = A::Arguments;

    async fn pre_start(
        &self,
        myself: ActorRef<A::Msg>,
        arguments: A::Arguments,
    ) -> Result<A::State, ActorProcessingErr> {
        self.watch(async { self.actor.pre_start(myself, arguments).await }).await
    }

    async fn post_start(&self, myself: ActorRef<A::Msg>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.watch(async { self.actor.post_start(myself, state).await }).await
    }

    async fn post_stop(&self, myself: ActorRef<A::Msg>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.watch(async { self.actor.post_stop(myself, state).await }).await
    }

    async fn handle(
        &self,
        myself: ActorRef<A::Msg>,
        message: A::Msg,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.watch(async { self.actor.handle(myself, message, state).await }).await
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<A::Msg>,
        event: SupervisionEvent,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.watch(async { self.actor.handle_supervisor_evt(myself, event, state).await }).await
    }
}
