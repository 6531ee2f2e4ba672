use std::error::Error;
use std::future::{Future, ready};

use tokio::runtime::Handle;

use super::Handler;
use crate::record::TopicPartition;

/// The error of a factory that could not make a handler.
pub type FactoryError = Box<dyn Error + Send + Sync>;

/// What a factory is told about the handler that it makes.
#[derive(Debug, Clone)]
pub struct FactoryContext {
    partition: TopicPartition,
    incarnation: u64,
    runtime: Handle,
}

impl FactoryContext {
    pub(crate) fn new(partition: TopicPartition, incarnation: u64, runtime: Handle) -> Self {
        Self { partition, incarnation, runtime }
    }

    /// The partition that the handler is for.
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// 1 for the partition's first handler in this ownership, one more with each restart.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// The runtime that the consumer was started on. Pools shared between partitions (of connections, say) should
    /// spawn their tasks there: on a lane they would freeze with a handler that blocks it.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }
}

/// Makes the handlers: one per partition, and a fresh one after each restart.
///
/// A closure `|| MyHandler::new()` is one. [`factory_fn`] takes an async closure that may fail and is told the
/// partition, [`handler_fn`] makes handlers of a closure, [`actor`](super::actor) of ractor actors. A factory that
/// fails, or takes longer than 60 s, is no record's fault: it is tried again with backoff, within the restart policy.
pub trait HandlerFactory: Send + Sync + 'static {
    /// The handlers it makes.
    type Handler: Handler;

    /// Makes a handler.
    fn create(&self, context: FactoryContext) -> impl Future<Output = Result<Self::Handler, FactoryError>> + Send;
}

impl<F, H> HandlerFactory for F
where
    F: Fn() -> H + Send + Sync + 'static,
    H: Handler,
{
    type Handler = H;

    async fn create(&self, _context: FactoryContext) -> Result<H, FactoryError> {
        // Called inside the future, where the guard is.
        Ok(self())
    }
}

/// A factory of an async closure that may fail and is told the partition.
#[derive(Debug, Clone)]
pub struct FactoryFn<F>(F);

/// Makes handlers by an async closure that may fail and is told the partition.
///
/// ```
/// # use bezoar::{Delivery, Failure, factory_fn, FactoryContext, FactoryError, Handler, HandlerFactory};
/// # struct Audit(std::fs::File);
/// # impl Handler for Audit {
/// #     type Message = String;
/// #     type Error = Failure;
/// #     async fn handle(&mut self, _: String, _: Delivery) -> Result<(), Failure> { Ok(()) }
/// # }
/// fn audits() -> impl HandlerFactory<Handler = Audit> {
///     factory_fn(|context: FactoryContext| async move {
///         let file = std::fs::File::create(format!("audit-{}.log", context.partition().partition()))?;
///         Ok(Audit(file))
///     })
/// }
/// ```
pub fn factory_fn<F, H, Fut>(create: F) -> FactoryFn<F>
where
    F: Fn(FactoryContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<H, FactoryError>> + Send,
    H: Handler,
{
    FactoryFn(create)
}

impl<F, H, Fut> HandlerFactory for FactoryFn<F>
where
    F: Fn(FactoryContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<H, FactoryError>> + Send,
    H: Handler,
{
    type Handler = H;

    async fn create(&self, context: FactoryContext) -> Result<H, FactoryError> {
        (self.0)(context).await
    }
}

/// A factory, and the handlers, of a closure.
pub struct HandlerFn<F, M> {
    handle: F,
    message: std::marker::PhantomData<fn(M)>,
}

/// Makes a handler of a closure; each partition gets a clone of it.
///
/// ```
/// # use bezoar::{Delivery, Failure, handler_fn};
/// let log = handler_fn(|text: String, delivery: Delivery| async move {
///     println!("{}: {text}", delivery.id());
///     Ok::<(), Failure>(())
/// });
/// # let _ = log;
/// ```
pub fn handler_fn<F, M, E, Fut>(handle: F) -> HandlerFn<F, M>
where
    F: FnMut(M, super::Delivery) -> Fut + Clone + Send + Sync + 'static,
    M: Send + 'static,
    E: super::IntoFailure,
    Fut: Future<Output = Result<(), E>> + Send,
{
    HandlerFn { handle, message: std::marker::PhantomData }
}

impl<F: Clone, M> Clone for HandlerFn<F, M> {
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone(), message: std::marker::PhantomData }
    }
}

impl<F, M> std::fmt::Debug for HandlerFn<F, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HandlerFn")
    }
}

impl<F, M, E, Fut> Handler for HandlerFn<F, M>
where
    F: FnMut(M, super::Delivery) -> Fut + Send + 'static,
    M: Send + 'static,
    E: super::IntoFailure,
    Fut: Future<Output = Result<(), E>> + Send,
{
    type Message = M;
    type Error = E;

    fn handle(&mut self, message: M, delivery: super::Delivery) -> impl Future<Output = Result<(), E>> + Send {
        (self.handle)(message, delivery)
    }
}

impl<F, M, E, Fut> HandlerFactory for HandlerFn<F, M>
where
    F: FnMut(M, super::Delivery) -> Fut + Clone + Send + Sync + 'static,
    M: Send + 'static,
    E: super::IntoFailure,
    Fut: Future<Output = Result<(), E>> + Send,
{
    type Handler = Self;

    fn create(&self, _context: FactoryContext) -> impl Future<Output = Result<Self, FactoryError>> + Send {
        ready(Ok(Self { handle: self.handle.clone(), message: std::marker::PhantomData }))
    }
}
