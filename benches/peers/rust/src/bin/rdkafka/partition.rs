use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bezoar_peers::Result;
use bezoar_peers::job::Job;
use bezoar_peers::measure::Tally;
use bezoar_peers::order::{Ledger, Order, OrderError};
use futures_util::FutureExt;
use rdkafka::Message;
use rdkafka::message::BorrowedMessage;
use rdkafka::producer::future_producer::OwnedDeliveryResult;
use rdkafka::producer::{DeliveryFuture, FutureProducer};

use super::dead_letter;

/// How many dead letters of a partition may wait for their acknowledgement.
const WINDOW: usize = 1_024;

/// What one partition needs to process its messages in order.
pub struct Partition {
    job: Arc<Job>,
    producer: FutureProducer,
    /// What may be committed: the offset below which all is handled or acknowledged.
    position: Arc<AtomicI64>,
    ledger: Ledger,
    pub tally: Tally,
    /// Dead letters on their way, with the offsets of their messages.
    pending: VecDeque<(i64, DeliveryFuture)>,
    next: i64,
}

impl Partition {
    pub fn new(job: Arc<Job>, producer: FutureProducer, position: Arc<AtomicI64>) -> Self {
        Self {
            job,
            producer,
            position,
            ledger: Ledger::default(),
            tally: Tally::default(),
            pending: VecDeque::new(),
            next: 0,
        }
    }

    /// Processes one message to its end: handled, or its dead letter handed over.
    pub async fn process(&mut self, message: &BorrowedMessage<'_>) -> Result<()> {
        self.tally.records += 1;
        match serde_json::from_slice::<Order>(message.payload().unwrap_or_default()) {
            Ok(order) => self.handle(message, &order).await?,
            Err(error) => {
                self.tally.decode += 1;
                self.bury(message, 1, &error).await?;
            }
        }
        self.next = message.offset() + 1;
        self.settle_ready()
    }

    /// Waits for the acknowledgements of all dead letters.
    pub async fn finish(&mut self) -> Result<Tally> {
        while let Some((_, delivery)) = self.pending.front_mut() {
            acknowledged(delivery.await.map_err(|_| "the producer was closed")?)?;
            self.pending.pop_front();
        }
        self.settle_ready()?;
        Ok(Tally { sum: self.ledger.sum, disorder: self.ledger.disorder, ..self.tally })
    }

    async fn handle(&mut self, message: &BorrowedMessage<'_>, order: &Order) -> Result<()> {
        let mut attempt = 1;
        loop {
            match self.ledger.handle(order, attempt) {
                Ok(()) => return Ok(()),
                Err(OrderError::Busy) => {
                    self.tally.retries += 1;
                    attempt += 1;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(error @ OrderError::Negative(_)) => {
                    self.tally.refused += 1;
                    return self.bury(message, attempt, &error).await;
                }
            }
        }
    }

    async fn bury(
        &mut self,
        message: &BorrowedMessage<'_>,
        attempts: u32,
        error: &(dyn std::error::Error + Sync),
    ) -> Result<()> {
        if self.pending.len() >= WINDOW
            && let Some((_, delivery)) = self.pending.front_mut()
        {
            acknowledged(delivery.await.map_err(|_| "the producer was closed")?)?;
            self.pending.pop_front();
        }
        let delivery = dead_letter::send(&self.producer, &self.job, message, attempts, &error)?;
        self.pending.push_back((message.offset(), delivery));
        Ok(())
    }

    /// Moves the position past everything that is settled by now.
    fn settle_ready(&mut self) -> Result<()> {
        while let Some((_, delivery)) = self.pending.front_mut()
            && let Some(result) = delivery.now_or_never()
        {
            acknowledged(result.map_err(|_| "the producer was closed")?)?;
            self.pending.pop_front();
        }
        let position = self.pending.front().map_or(self.next, |(offset, _)| *offset);
        self.position.store(position, Ordering::Release);
        Ok(())
    }
}

/// A dead letter that is refused ends the peer: the jobs have none.
fn acknowledged(result: OwnedDeliveryResult) -> Result<()> {
    result.map(drop).map_err(|(error, _)| error.into())
}
