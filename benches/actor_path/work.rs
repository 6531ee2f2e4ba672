use std::future::Future;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bezoar::record::Record;
use bezoar::{Delivery, Failure, Handler};
use tokio::sync::mpsc;

use super::support::records::Order;

/// What is done with a message, by the handler and by the bare loop alike.
pub(crate) trait Work: Clone + Send + Sync + 'static {
    type Message: Send + 'static;

    fn work(&mut self, message: Self::Message) -> impl Future<Output = ()> + Send;
}

/// Counts bytes; never waits.
#[derive(Clone, Default)]
pub(crate) struct CountBytes(usize);

impl Work for CountBytes {
    type Message = Record;

    async fn work(&mut self, record: Record) {
        self.0 += black_box(record.value().map_or(0, <[u8]>::len));
    }
}

/// Adds orders up; never waits.
#[derive(Clone, Default)]
pub(crate) struct AddUp(f64);

impl Work for AddUp {
    type Message = Order;

    async fn work(&mut self, order: Order) {
        self.0 += black_box(order.total + order.id as f64);
        black_box((order.customer, order.items));
    }
}

/// Lets others run once before it counts bytes.
#[derive(Clone, Default)]
pub(crate) struct YieldOnce(CountBytes);

impl Work for YieldOnce {
    type Message = Record;

    async fn work(&mut self, record: Record) {
        tokio::task::yield_now().await;
        self.0.work(record).await;
    }
}

/// Sleeps for a millisecond before it counts bytes, as if it asked another service.
#[derive(Clone, Default)]
pub(crate) struct Sleep(CountBytes);

impl Work for Sleep {
    type Message = Record;

    async fn work(&mut self, record: Record) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.0.work(record).await;
    }
}

/// A handler that does the work and says when it has done all.
pub(crate) struct Worker<W> {
    pub(crate) work: W,
    pub(crate) left: i64,
    pub(crate) done: mpsc::UnboundedSender<Instant>,
}

impl<W> Worker<W> {
    pub(crate) fn count(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            let _ = self.done.send(Instant::now());
        }
    }
}

impl<W: Work> Handler for Worker<W> {
    type Message = W::Message;
    type Error = Failure;

    async fn handle(&mut self, message: W::Message, _: Delivery) -> Result<(), Failure> {
        self.work.work(message).await;
        self.count();
        Ok(())
    }
}
