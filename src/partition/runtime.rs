use std::sync::Arc;

use ractor::{Actor, ActorCell};
use tokio::runtime::Handle;

use super::actor::PartitionActor;
use super::context::{PartitionContext, TopicLimits};
use super::ownership::Ownership;
use crate::broker::BoxFuture;
use crate::handler::{Decoder, FactoryContext, Handler, HandlerFactory};

/// What a new incarnation is given.
pub(crate) struct Incarnation {
    pub(crate) ownership: Arc<Ownership>,
    pub(crate) context: Arc<PartitionContext>,
    pub(crate) limits: TopicLimits,
    pub(crate) number: u64,
    /// The runtime that shared pools of users may live on.
    pub(crate) shared: Handle,
    pub(crate) supervisor: ActorCell,
    pub(crate) halt: Arc<dyn Fn(String) + Send + Sync>,
}

/// Starts partition actors for one topic; hides the handler's types from the supervisor. Called once per incarnation.
pub(crate) trait Spawner: Send + Sync {
    /// Starts an incarnation on the current runtime, linked to its supervisor.
    fn spawn(&self, incarnation: Incarnation) -> BoxFuture<Result<ActorCell, String>>;
}

/// The decoder and the handler factory of one topic.
pub(crate) struct TypedSpawner<D, F> {
    /// Cloned by each incarnation, under its guard: cloning is user code.
    decoder: Arc<D>,
    factory: Arc<F>,
}

impl<D, F> TypedSpawner<D, F> {
    pub(crate) fn new(decoder: D, factory: F) -> Self {
        Self { decoder: Arc::new(decoder), factory: Arc::new(factory) }
    }
}

impl<D, F> Spawner for TypedSpawner<D, F>
where
    F: HandlerFactory,
    D: Decoder<<F::Handler as Handler>::Message> + Sync,
{
    fn spawn(&self, incarnation: Incarnation) -> BoxFuture<Result<ActorCell, String>> {
        let Incarnation { ownership, context, limits, number, shared, supervisor, halt } = incarnation;
        let creation = FactoryContext::new(ownership.partition.clone(), number, shared);
        let actor = PartitionActor {
            ownership,
            context,
            decoder: Arc::clone(&self.decoder),
            factory: Arc::clone(&self.factory),
            limits,
            creation,
            halt,
        };
        Box::pin(async move {
            match Actor::spawn_linked(None, actor, (), supervisor).await {
                Ok((actor, _join)) => Ok(actor.get_cell()),
                Err(ractor::SpawnErr::StartupFailed(error)) => Err(error.to_string()),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}
