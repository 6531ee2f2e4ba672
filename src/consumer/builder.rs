use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use super::error::ConsumerError;
use super::resolved::Resolved;
use super::settings::ConsumerSettings;
use super::topic::{TopicEntry, TopicOptions, Topics};
use super::validate::validate;
use super::{Consumer, start};
use crate::broker::Ports;
use crate::classifier::{FailureInfo, Rules};
use crate::dead_letter::{DeadLetterFormat, Redaction, TopicCreation};
use crate::event::{EventStream, Events};
use crate::handler::{Decoder, Handler, HandlerFactory};
use crate::isolation::Isolation;
use crate::offsets::OffsetReset;
use crate::partition::{CorruptBatches, Hooks, TypedSpawner};
use crate::policy::{Category, ConfigError, DeadLetterTopics, Policies};
use crate::record::Record;
use crate::supervisor::RestartPolicy;

/// Puts a consumer together. Everything is checked by [`start`](Self::start) before anything runs.
pub struct ConsumerBuilder {
    pub(super) settings: Resolved,
    topics: Vec<TopicEntry>,
    pub(super) hooks: Hooks,
    events: Events,
    pub(super) ports: Option<Ports>,
    panic_hook: bool,
    echo_panics: bool,
}

impl ConsumerBuilder {
    pub(super) fn new(settings: Resolved) -> Self {
        Self {
            settings,
            topics: Vec::new(),
            hooks: Hooks::default(),
            events: Events::new(),
            ports: None,
            panic_hook: true,
            echo_panics: false,
        }
    }

    pub(super) fn from_settings(settings: ConsumerSettings) -> Result<Self, ConfigError> {
        Ok(Self::new(Resolved::from_settings(settings)?))
    }

    /// Adds a topic. Its partitions are divided among the instances of the group, of which this consumer is one
    /// ([`assignment`](Self::assignment) can change that); each that this one gets has a decoder and a handler of its own. At
    /// least one topic or pattern is required.
    pub fn topic<D, F>(self, name: impl Into<String>, decoder: D, factory: F) -> Self
    where
        F: HandlerFactory,
        D: Decoder<<F::Handler as Handler>::Message> + Sync,
    {
        self.topic_with(name, TopicOptions::new(), decoder, factory)
    }

    /// Adds a topic with options of its own.
    pub fn topic_with<D, F>(mut self, name: impl Into<String>, options: TopicOptions, decoder: D, factory: F) -> Self
    where
        F: HandlerFactory,
        D: Decoder<<F::Handler as Handler>::Message> + Sync,
    {
        let spawner = Arc::new(TypedSpawner::new(decoder, factory));
        self.topics.push(TopicEntry { topics: Topics::Named(name.into()), options, spawner });
        self
    }

    /// Adds all topics whose whole name matches a regular expression (the syntax of the [regex](https://docs.rs/regex) crate),
    /// those that are created later too; needs [`Assignment::Group`](super::Assignment::Group). A topic that is added by name
    /// as well is processed as that says; of several patterns that match, the first counts. Patterns never match internal topics
    /// (`__…`) and those that Bezoar writes by itself: where this consumer's dead letters go, and names like `orders.dlq`,
    /// `orders.dlq.poison`, `orders.retry.10m` and `orders.replays`. Their dead-letter topics are looked at, and made if missing,
    /// with their first dead letter. Where nothing matches, and no topic that is named exists, the consumer joins its group once
    /// there is one; [`caught_up`](super::ConsumerHandle::caught_up) waits for that.
    pub fn topic_pattern<D, F>(self, pattern: &str, decoder: D, factory: F) -> Self
    where
        F: HandlerFactory,
        D: Decoder<<F::Handler as Handler>::Message> + Sync,
    {
        self.topic_pattern_with(pattern, TopicOptions::new(), decoder, factory)
    }

    /// Adds the topics that match a pattern with options of their own.
    pub fn topic_pattern_with<D, F>(mut self, pattern: &str, options: TopicOptions, decoder: D, factory: F) -> Self
    where
        F: HandlerFactory,
        D: Decoder<<F::Handler as Handler>::Message> + Sync,
    {
        let spawner = Arc::new(TypedSpawner::new(decoder, factory));
        self.topics.push(TopicEntry { topics: Topics::Pattern(pattern.to_owned()), options, spawner });
        self
    }

    /// What each category of failure gets. Default: [`Policies::default`].
    pub fn policies(mut self, policies: Policies) -> Self {
        self.settings.policies = policies;
        self
    }

    /// Which topics dead letters go to. Default: one per category, `<topic>.dlq.<category>`.
    pub fn dead_letter_topics(mut self, topics: DeadLetterTopics) -> Self {
        self.settings.dead_letter_topics = topics;
        self
    }

    /// Dead-letter topics, by their exact names, whose replays [`Delivery::origin`](crate::Delivery::origin) believes besides those
    /// that [`dead_letter_topics`](Self::dead_letter_topics) gives this consumer's topics. For records that are replayed to another
    /// topic than their source's, and dead letters that [`route_dead_letters`](Self::route_dead_letters) sends elsewhere. Whoever
    /// may write to the topic `<name>.replays` can say of any record where it came from. Default none.
    pub fn trusted_replays(mut self, topics: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.settings.trusted_replays = topics.into_iter().map(Into::into).collect();
        self
    }

    /// Chooses a dead letter's topic by a function of the record and its category; `None` leaves it to
    /// [`dead_letter_topics`](Self::dead_letter_topics). A topic that the consumer reads is refused.
    pub fn route_dead_letters(
        mut self,
        router: impl Fn(&Record, Category) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.router = Some(Arc::new(router));
        self
    }

    /// How dead letters are written. Default: [`DeadLetterFormat::default`].
    pub fn dead_letter_format(mut self, format: DeadLetterFormat) -> Self {
        self.settings.format = format;
        self
    }

    /// How missing dead-letter topics are made. Default: [`TopicCreation::default`].
    pub fn dead_letter_topic_creation(mut self, creation: TopicCreation) -> Self {
        self.settings.creation = creation;
        self
    }

    /// The most dead letters of a partition that may wait for their acknowledgement while it goes on; 0 waits for
    /// each. Default 256, at most 100,000.
    pub fn max_unacknowledged_dead_letters(mut self, count: usize) -> Self {
        self.settings.max_unacknowledged = count;
        self
    }

    /// Sees each failure's text, backtrace and headers before they leave the process, and may change them.
    pub fn redact(mut self, redactor: impl Fn(&mut Redaction<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.redactor = Some(Arc::new(redactor));
        self
    }

    /// Classifies failures for which the handler stated no category; `None` leaves one to the built-in rules.
    pub fn classify(
        mut self,
        classifier: impl Fn(&FailureInfo<'_>) -> Option<Category> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.classifier = Some(Arc::new(classifier));
        self
    }

    /// Rules of classification before the built-in ones.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.settings.rules = rules;
        self
    }

    /// Reports errors of type `E` by `name`, wherever in a failure's chain they are found. `serde_json::Error` is
    /// registered already.
    pub fn error_type<E: Error + 'static>(mut self, name: &'static str) -> Self {
        self.hooks.error_types = std::mem::take(&mut self.hooks.error_types).register::<E>(name);
        self
    }

    /// Where partitions without a valid committed offset start. Default [`OffsetReset::Earliest`].
    pub fn offset_reset(mut self, policy: OffsetReset) -> Self {
        self.settings.offset_reset = policy;
        self
    }

    /// How often watermarks are committed. Default 1 s.
    pub fn commit_interval(mut self, interval: Duration) -> Self {
        self.settings.commit_interval = interval;
        self
    }

    /// Commits as soon as this many records were settled since the last commit, besides
    /// [`commit_interval`](Self::commit_interval). Default `None`: by time only.
    pub fn commit_every(mut self, records: Option<u64>) -> Self {
        self.settings.commit_every = records;
        self
    }

    /// How often offsets that did not change are committed again, since brokers forget those of a group without members that
    /// commits nothing (`offsets.retention.minutes`, seven days by default). Default 1 h. Only for
    /// [`Assignment::Manual`](super::Assignment::Manual): a group with members keeps its offsets.
    pub fn offsets_recommit(mut self, interval: Duration) -> Self {
        self.settings.offsets_recommit = interval;
        self
    }

    /// The longest that a delivery may await; past it the record is poison. `None` for no limit. Default 30 s. It may be longer
    /// than the session timeout: heartbeats do not depend on handlers.
    pub fn poison_timeout(mut self, limit: Option<Duration>) -> Self {
        self.settings.poison_timeout = limit;
        self
    }

    /// How long records in flight may take to finish when the consumer stops, or gives a partition up to another member. Default
    /// 30 s; at most the [`rebalance_timeout`](Self::rebalance_timeout) less 10 s.
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.settings.drain_timeout = timeout;
        self
    }

    /// What becomes of record batches that cannot be read, after three more tries. Default
    /// [`CorruptBatches::Quarantine`]. Not for [`Plane::Rskafka`](crate::broker::Plane::Rskafka), which stops there.
    pub fn corrupt_batches(mut self, policy: CorruptBatches) -> Self {
        self.settings.corrupt_batches = policy;
        self
    }

    /// Who dead-lettered a record, in its dead letter. Default: group, host and process id.
    pub fn consumer_id(mut self, id: impl Into<String>) -> Self {
        self.settings.consumer_id = id.into();
        self
    }

    /// The version of the service, in its dead letters. Default `1.0.0`.
    pub fn consumer_version(mut self, version: impl Into<String>) -> Self {
        self.settings.consumer_version = version.into();
        self
    }

    /// Where handlers run. Default: as many lanes as the machine has cores.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.settings.isolation = isolation;
        self
    }

    /// How often partition actors are restarted, and what happens past it.
    pub fn restart(mut self, policy: RestartPolicy) -> Self {
        self.settings.restart = policy;
        self
    }

    /// Whether the process-wide panic hook that records where handlers panic is installed. Default yes. Without it a
    /// panic's message is known, but neither its place nor its backtrace. Panics are caught either way.
    pub fn panic_hook(mut self, install: bool) -> Self {
        self.panic_hook = install;
        self
    }

    /// Whether panics of handlers also go to the hook that was there before, which prints them as a rule. Default no:
    /// they are logged and reported as events. The first consumer of a process decides.
    pub fn echo_panics(mut self, echo: bool) -> Self {
        self.echo_panics = echo;
        self
    }

    /// A stream of the consumer's events from its start on.
    pub fn events(&self) -> EventStream {
        self.events.subscribe()
    }

    /// Checks the settings, connects, checks topics and offsets, and starts to process records. Must be called on a
    /// tokio runtime.
    ///
    /// # Errors
    /// [`ConsumerError::Config`] before anything is started; otherwise what stood in the way.
    pub async fn start(mut self) -> Result<Consumer, ConsumerError> {
        if self.ports.is_some() && self.settings.connection.bootstrap.is_empty() {
            // Not used, and not to be asked for.
            self.settings.connection.bootstrap.push("ports.given:1".to_owned());
        }
        let topics = validate(&mut self.settings, self.topics)?;
        if self.panic_hook {
            crate::isolation::guard::install_hook(self.echo_panics);
        }
        start::start(self.settings, topics, self.hooks, self.events, self.ports).await
    }
}

impl std::fmt::Debug for ConsumerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let topics: Vec<_> = self.topics.iter().map(|topic| topic.topics.to_string()).collect();
        f.debug_struct("ConsumerBuilder").field("group", &self.settings.group).field("topics", &topics).finish()
    }
}
