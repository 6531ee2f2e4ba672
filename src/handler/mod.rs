//! What users write: handlers, decoders, factories, failures.

mod actor;
pub(crate) mod chain;
mod decoder;
mod delivery;
mod factory;
mod failure;
mod into_failure;
mod origin;
mod trace;

use std::future::Future;

pub use actor::{ActorFactory, ActorHandler, Deliver, HandlerGone, actor};
pub use decoder::{Decoder, Json, Raw, Utf8};
pub use delivery::Delivery;
pub(crate) use delivery::Outbox;
pub use factory::{FactoryContext, FactoryError, FactoryFn, HandlerFactory, HandlerFn, factory_fn, handler_fn};
pub use failure::Failure;
pub use into_failure::IntoFailure;
pub use origin::OriginError;
pub(crate) use origin::{Access, OriginSettings, Origins};

/// Processes the records of one partition, one after the other, as typed messages.
///
/// Each partition has a value of its own, made by a [`HandlerFactory`], so state in `self` needs no lock. After a panic
/// or a timeout the value is dropped and a fresh one made. Delivery is at-least-once: a record may come again after a
/// crash, so side effects should be idempotent or keyed by [`Delivery::id`].
pub trait Handler: Send + 'static {
    /// What the decoder makes of a record.
    type Message: Send + 'static;
    /// Why a delivery fails: [`Failure`], which takes any error by `?`, or an own type that states categories.
    type Error: IntoFailure;

    /// Processes one record. `Ok` settles it; an error is classified and retried, dead-lettered, skipped or stopped at,
    /// as its category's policy says.
    ///
    /// The future is dropped if it exceeds the poison timeout or the drain deadline of a shutdown.
    fn handle(
        &mut self,
        message: Self::Message,
        delivery: Delivery,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
}
