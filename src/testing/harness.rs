use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::runtime::{Builder, Handle, Runtime};

use super::memory::Memory;
use crate::classifier::{FailureInfo, Rules};
use crate::event::Events;
use crate::handler::{Decoder, Handler, Origins, Outbox};
use crate::isolation::guard::{Contained, install_hook};
use crate::partition::{Attempt, Delivered, Fault, Hooks, Patience};
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
    rules: Rules,
    events: Events,
    limit: Option<Duration>,
    next_offset: i64,
    /// For blocking calls; made with the first.
    runtime: Option<Runtime>,
}

impl<D, H> Harness<D, H>
where
    H: Handler,
    D: Decoder<H::Message>,
{
    /// A harness around a decoder and a handler, with the built-in rules and a limit of 30 s per delivery. Installs the
    /// panic hook that consumers install.
    pub fn new(decoder: D, handler: H) -> Self {
        install_hook(false);
        Self {
            decoder,
            handler: Contained::new(handler),
            memory: Memory::default(),
            hooks: Hooks::default(),
            rules: Rules::default(),
            events: Events::new(),
            limit: Some(Duration::from_secs(30)),
            next_offset: 0,
            runtime: None,
        }
    }

    /// Sets the longest that a delivery may await; `None` for no limit.
    pub fn limit(mut self, limit: Option<Duration>) -> Self {
        self.limit = limit;
        self
    }

    /// Classifies as the consumer's builder does with the same function.
    pub fn classify(
        mut self,
        classifier: impl Fn(&FailureInfo<'_>) -> Option<Category> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.classifier = Some(Arc::new(classifier));
        self
    }

    /// Rules of classification before the built-in ones.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Reports errors of type `E` by `name`, wherever in a failure's chain they are found.
    pub fn error_type<E: Error + 'static>(mut self, name: &'static str) -> Self {
        self.hooks.error_types = std::mem::take(&mut self.hooks.error_types).register::<E>(name);
        self
    }

    /// Delivers a record as its first attempt, on the current tokio runtime. The record's topic and partition are where
    /// it seems to come from.
    pub async fn deliver(&mut self, record: ProducerRecord) -> Outcome {
        self.deliver_attempt(record, 1).await
    }

    /// Delivers a record as attempt number `attempt`, 1 for the first, on the current tokio runtime.
    pub async fn deliver_attempt(&mut self, record: ProducerRecord, attempt: u32) -> Outcome {
        let record = self.fetched(record);
        let Some(handler) = self.handler.as_mut() else { return Outcome::Gone { reason: "no handler".to_owned() } };
        let outbox = Arc::new(Outbox::new(Producer::new(self.memory.ports(), Handle::current()), Origins::none()));
        let partition = record.partition().clone();
        let delivery = Attempt {
            hooks: &self.hooks,
            events: &self.events,
            decoder: &mut self.decoder,
            handler,
            outbox: &outbox,
            patience: &mut Patience::new(self.limit, Handle::current()),
            record,
            partition: &partition,
            number: attempt,
            first_failure: (attempt > 1).then(SystemTime::now),
            ownership: None,
        };
        match delivery.run(|_| None).await {
            Delivered::Handled => Outcome::Handled,
            Delivered::Failed(evidence) => Outcome::Failed {
                category: self.rules.classify(&evidence),
                error_type: evidence.error_type,
                message: evidence.message,
            },
            Delivered::Lost(Fault::Panic(report)) => {
                Outcome::Panicked { message: report.message, location: report.location }
            }
            Delivered::Lost(Fault::Timeout { .. }) => Outcome::TimedOut,
            Delivered::Gone(reason) => Outcome::Gone { reason },
            Delivered::Withheld => Outcome::Gone { reason: "the partition was given up".to_owned() },
        }
    }

    /// [`deliver`](Self::deliver) where there is no runtime: in plain tests, proptest and cargo-fuzz.
    ///
    /// # Panics
    /// Within a tokio runtime, where it must not block; and if the operating system gives no runtime.
    pub fn deliver_blocking(&mut self, record: ProducerRecord) -> Outcome {
        let runtime = self.runtime.take().unwrap_or_else(|| {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.unwrap_or_else(|error| panic!("starting a runtime for the test harness: {error}"))
        });
        let outcome = runtime.block_on(self.deliver(record));
        self.runtime = Some(runtime);
        outcome
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

impl<D, H> Drop for Harness<D, H> {
    fn drop(&mut self) {
        // Also where a runtime must not be waited for: inside another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl<D, H> std::fmt::Debug for Harness<D, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Harness")
    }
}
