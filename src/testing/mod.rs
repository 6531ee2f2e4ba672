//! For users' own tests: handlers without a broker, and the embedded broker.
//!
//! [`Harness`] delivers records to a handler as a partition actor would, under the same panic guard and with the same
//! classification, and says what came of it. It fits unit tests, proptest and cargo-fuzz: whatever the bytes and whatever
//! the handler does, nothing escapes.
//!
//! ```
//! use bezoar::testing::{Harness, Outcome};
//! use bezoar::{Delivery, Failure, Json, handler_fn, policy::Category, record::ProducerRecord};
//!
//! let mut harness = Harness::new(Json, handler_fn(|total: u32, delivery: Delivery| async move {
//!     let receipt = ProducerRecord::to("receipts").value(total.to_string());
//!     delivery.produce(receipt).await?;
//!     Ok::<(), Failure>(())
//! }));
//!
//! let outcome = harness.deliver_blocking(ProducerRecord::to("orders").value("20"));
//! assert_eq!(outcome, Outcome::Handled);
//! assert_eq!(harness.take_produced()[0].value.as_deref(), Some(&b"20"[..]));
//!
//! let outcome = harness.deliver_blocking(ProducerRecord::to("orders").value("twenty"));
//! assert_eq!(outcome.category(), Some(Category::Validation));
//! ```
//!
//! In an async test, `harness.deliver(record).await` does the same.
//!
//! For tests of the whole consumer, with retries and dead letters, start an [`embedded::Broker`](crate::embedded::Broker).

mod harness;
pub(crate) mod memory;

pub use harness::{Harness, Outcome};
