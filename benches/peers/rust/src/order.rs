use serde::Deserialize;

/// The message of the typed jobs; every peer has the same fields.
#[derive(Debug, Deserialize)]
pub struct Order {
    pub id: u64,
    pub customer: String,
    /// In cents; negative ones are refused.
    pub amount: i64,
    pub currency: String,
    /// `busy` fails the first two attempts.
    pub carrier: String,
    pub items: Vec<Item>,
    pub note: String,
}

/// One line of an order.
#[derive(Debug, Deserialize)]
pub struct Item {
    pub sku: String,
    pub count: u32,
    pub price: i64,
}

/// Why an order was not handled.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    #[error("amount {0} is negative")]
    Negative(i64),
    #[error("the carrier is busy")]
    Busy,
}

/// What the handler does, in every peer the same: checks, sums up, and sees whether orders ascend.
#[derive(Debug, Default)]
pub struct Ledger {
    pub sum: i64,
    pub disorder: u64,
    next: u64,
}

impl Ledger {
    /// Handles one order of one partition. `attempt` is 1 for the first.
    pub fn handle(&mut self, order: &Order, attempt: u32) -> Result<(), OrderError> {
        self.disorder += u64::from(order.id < self.next);
        self.next = order.id;
        if order.amount < 0 {
            return Err(OrderError::Negative(order.amount));
        }
        if order.carrier == "busy" && attempt < 3 {
            return Err(OrderError::Busy);
        }
        self.sum += order.amount;
        Ok(())
    }
}
