use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bezoar::{Delivery, Handler};
use serde::Deserialize;

use super::error::{PayError, ReceiptError};
use super::key::{Key, KeyBy};

/// An order, as it is sent.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) cents: i64,
}

/// What came of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paid {
    /// It was made now.
    Now,
    /// It had been made before; nothing was done.
    Before,
}

/// Where payments are made.
pub(crate) trait Ledger: Send + 'static {
    /// Makes the payment and notes its key in one transaction, or does nothing if the key is there already.
    fn pay_once(&mut self, key: &Key, order: &Order) -> impl Future<Output = Result<Paid, PayError>> + Send;
}

/// What follows a payment, and may fail though it is committed.
pub(crate) type Receipts = Arc<dyn Fn(&Order, &Delivery, Paid) -> Result<(), ReceiptError> + Send + Sync>;

/// Pays for each order once, however often it is delivered.
pub(crate) struct Payments<L> {
    ledger: L,
    key_by: KeyBy,
    receipts: Receipts,
    /// Longer than a payment takes, and well below the poison timeout of 30 s: a database that hangs is no fault of the record,
    /// and must not have it quarantined.
    patience: Duration,
}

impl<L: Ledger> Payments<L> {
    pub(crate) fn new(ledger: L, key_by: KeyBy, receipts: Receipts, patience: Duration) -> Self {
        Self { ledger, key_by, receipts, patience }
    }
}

impl<L: Ledger> Handler for Payments<L> {
    type Message = Order;
    type Error = PayError;

    async fn handle(&mut self, order: Order, delivery: Delivery) -> Result<(), PayError> {
        let key = match self.key_by {
            KeyBy::Origin => Key::Record(delivery.origin().await?),
            KeyBy::Order => Key::Order(order.id.clone()),
        };
        let payment = tokio::time::timeout(self.patience, self.ledger.pay_once(&key, &order));
        let paid = payment.await.map_err(|_| PayError::Slow(self.patience))??;
        // Not a reason to stop here if it was paid for before: what comes after the payment may not have been done then.
        (self.receipts)(&order, &delivery, paid)?;
        Ok(())
    }
}
