use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::runtime::{Builder, Runtime};

use super::memory::Memory;
use crate::classifier::Rules;
use crate::event::Events;
use crate::handler::{Decoder, Delivery, Handler, Outbox};
use crate::isolation::guard::{Contained, install_hook};
use crate::partition::{Delivered, Fault, Hooks, deliver};
use crate::policy::Category;
use crate::producer::Producer;
use crate::record::{HeaderRef, ProducerRecord, Record, RecordBatchBuilder, TopicPartition};

/// What came of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The record was handled.
    Handled,
    /// The decoder or the handler returned an error.
    Failed {
        /// What it is classified as, by the built-in rules where the handler states nothing.
        category: Category,
        /// The error's type as dead letters report it.
        error_type: String,
        /// The error's message with its causes.
        message: String,
    },
    /// The decoder or the handler panicked: poison. A consumer would go on with a fresh handler; the harness keeps this
    /// one.
    Panicked {
        /// The panic's message.
        message: String,
        /// `file:line:column`, where known.
        location: Option<String>,
    },
    /// It awaited longer than the limit of the harness: poison.
    TimedOut,
    /// The handler said that it cannot go on, through no fault of the record.
    Gone {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// The category of a failure; `None` where the record was handled or the handler is gone.
    pub fn category(&self) -> Option<Category> {
        match self {
            Self::Failed { category, .. } => Some(*category),
            Self::Panicked { .. } | Self::TimedOut => Some(Category::Poison),
            Self::Handled | Self::Gone { .. } => None,
        }
    }
}

/// Delivers records to one handler without a broker. What the handler produces is kept; offsets count up from 0.
pub struct Harness<D, H> {
    decoder: D,
    handler: Contained<H>,
    memory: Memory,
    hooks: Hooks,
    events: Events,
    limit: Option<Duration>,
    next_offset: i64,
    runtime: Runtime,
}

impl<D, H> Harness<D, H>
where
    H: Handler,
    D: Decoder<H::Message>,
{
    /// A harness around a decoder and a handler, with a limit of 30 s per delivery. Installs the panic hook that
    /// consumers install.
    ///
    /// # Panics
    /// If the operating system gives no runtime (its timers need a file descriptor or two).
    pub fn new(decoder: D, handler: H) -> Self {
        install_hook(false);
        let runtime = Builder::new_current_thread().enable_all().build();
        Self {
            decoder,
            handler: Contained::new(handler),
            memory: Memory::default(),
            hooks: Hooks::default(),
            events: Events::new(),
            limit: Some(Duration::from_secs(30)),
            next_offset: 0,
            runtime: runtime.unwrap_or_else(|error| panic!("starting a runtime for the test harness: {error}")),
        }
    }

    /// Sets the longest that a delivery may await; `None` for no limit.
    pub fn limit(mut self, limit: Option<Duration>) -> Self {
        self.limit = limit;
        self
    }

    /// Delivers a record as its first attempt. The record's topic and partition are where it seems to come from.
    pub fn deliver_blocking(&mut self, record: ProducerRecord) -> Outcome {
        self.deliver_attempt_blocking(record, 1)
    }

    /// Delivers a record as attempt number `attempt`, 1 for the first.
    pub fn deliver_attempt_blocking(&mut self, record: ProducerRecord, attempt: u32) -> Outcome {
        let record = self.fetched(record);
        let Some(handler) = self.handler.as_mut() else { return Outcome::Gone { reason: "no handler".to_owned() } };
        let producer = Producer::new(self.memory.ports(), self.runtime.handle().clone());
        let outbox = Arc::new(Outbox::new(producer));
        let first_failure = (attempt > 1).then(SystemTime::now);
        let delivery = Delivery::new(record.clone(), attempt, first_failure, Arc::clone(&outbox));
        let delivering = deliver(
            (&self.hooks, &self.events),
            &mut self.decoder,
            handler,
            &outbox,
            (&record, delivery),
            self.limit,
            || {},
        );
        match self.runtime.block_on(delivering) {
            Delivered::Handled => Outcome::Handled,
            Delivered::Failed(evidence) => Outcome::Failed {
                category: Rules::default().classify(&evidence),
                error_type: evidence.error_type,
                message: evidence.message,
            },
            Delivered::Lost(Fault::Panic(report)) => {
                Outcome::Panicked { message: report.message, location: report.location }
            }
            Delivered::Lost(Fault::Timeout { .. }) => Outcome::TimedOut,
            Delivered::Gone(reason) => Outcome::Gone { reason },
        }
    }

    /// The handler, to look at its state.
    pub fn handler(&mut self) -> Option<&mut H> {
        self.handler.as_mut()
    }

    /// What the handler produced since the last call, in order.
    pub fn take_produced(&mut self) -> Vec<ProducerRecord> {
        self.memory.take()
    }

    /// The record as if it had been fetched.
    fn fetched(&mut self, record: ProducerRecord) -> Record {
        let offset = self.next_offset;
        self.next_offset += 1;
        let partition = TopicPartition::new(record.topic, record.partition.unwrap_or(0));
        let mut batch = RecordBatchBuilder::new(partition, None);
        let headers = record.headers.iter().map(|h| HeaderRef { name: &h.name, value: h.value.as_deref() });
        batch.push(offset, record.timestamp.unwrap_or(0), record.key.as_deref(), record.value.as_deref(), headers);
        let batch = batch.build(offset + 1);
        batch.iter().next().unwrap_or_else(|| unreachable!("one record was pushed"))
    }
}

impl<D, H> std::fmt::Debug for Harness<D, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Harness")
    }
}
