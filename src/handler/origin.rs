use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::broker::{ConnectionSettings, Plane, Ports};
use crate::dead_letter::names;
use crate::partition::Sources;
use crate::policy::DeadLetterTopics;
use crate::record::{Record, RecordId};
use crate::replay::marks::{Mark, Outcome, Place, parse_record};
use crate::replay::{ReplayError, marks};

/// Why the origin of a record is not known for now. It is transient: a handler that returns it, or that of a
/// [`Failure`](crate::Failure) made of it, is called again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the origin of {record} is not known for now, since the marks of what was replayed from {dead_letters:?} cannot be read: {reason}"
)]
#[non_exhaustive]
pub struct OriginError {
    /// The record.
    pub record: RecordId,
    /// The dead-letter topic that it says it was replayed from.
    pub dead_letters: String,
    /// Why not.
    pub reason: String,
}

/// How long a look at the marks may take: well below the poison timeout, since it is no fault of the record's.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tells where replayed records came from first. One for a consumer; it connects when it is first needed.
#[derive(Clone)]
pub(crate) struct Origins {
    shared: Option<Arc<Shared>>,
}

struct Shared {
    settings: OriginSettings,
    topics: DeadLetterTopics,
    sources: Sources,
    /// Where connections live.
    runtime: Handle,
    ports: OnceCell<Ports>,
    known: Mutex<HashMap<String, Arc<Known>>>,
}

/// The marks of one dead-letter topic, once they were read.
type Known = tokio::sync::Mutex<Option<marks::Origins>>;

/// How marks are read, and whose are believed.
#[derive(Clone)]
pub(crate) struct OriginSettings {
    pub(crate) access: Access,
    /// Dead-letter topics whose replays are believed besides those of the consumer's own topics.
    pub(crate) trusted: Vec<String>,
}

/// How the broker is reached.
#[derive(Clone)]
pub(crate) enum Access {
    /// By connections of one's own: a source reads each partition once at a time.
    Connect(Plane, Box<ConnectionSettings>),
    /// Over these ports.
    Given(Ports),
}

impl Origins {
    pub(crate) fn new(settings: OriginSettings, topics: DeadLetterTopics, sources: Sources, runtime: Handle) -> Self {
        let (ports, known) = (OnceCell::new(), Mutex::default());
        Self { shared: Some(Arc::new(Shared { settings, topics, sources, runtime, ports, known })) }
    }

    /// Where there are no marks: each record is its own origin.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn none() -> Self {
        Self { shared: None }
    }

    /// The origin of a record.
    pub(crate) async fn of(&self, record: &Record) -> Result<RecordId, OriginError> {
        let Some(shared) = &self.shared else { return Ok(record.id()) };
        let headers = record.headers();
        let Some(of) = headers.text(names::REPLAY_OF).and_then(parse_record) else { return Ok(record.id()) };
        let id = headers.text(names::REPLAY_ID).and_then(|id| Uuid::parse_str(id).ok());
        let Some(id) = id.filter(|_| shared.believes(of.partition.topic())) else { return Ok(record.id()) };
        let error =
            |reason: String| OriginError { record: record.id(), dead_letters: of.partition.topic().to_owned(), reason };
        let looking = Arc::clone(shared).look(of.clone(), id, record.id());
        // It goes on where the handler does not wait any longer, so that a long first look ends some time.
        match tokio::time::timeout(PATIENCE, shared.runtime.spawn(looking)).await {
            Ok(Ok(Ok(origin))) => Ok(origin.unwrap_or_else(|| record.id())),
            Ok(Ok(Err(reason))) => Err(error(reason.to_string())),
            Ok(Err(_)) => Err(error("the consumer is stopping".to_owned())),
            Err(_) => Err(error(format!("no answer within {}", humantime::format_duration(PATIENCE)))),
        }
    }
}

impl Shared {
    /// Whether marks of this dead-letter topic are believed: it is where dead letters of the consumer's topics go, or trusted.
    fn believes(&self, dead_letters: &str) -> bool {
        self.settings.trusted.iter().any(|trusted| trusted == dead_letters)
            || self.topics.sources_of(dead_letters).any(|source| self.sources.contain(source))
    }

    /// The origin by the mark of dead letter `of`; `None` where that does not say that the record `at` is its replay.
    async fn look(self: Arc<Self>, of: RecordId, id: Uuid, at: RecordId) -> Result<Option<RecordId>, ReplayError> {
        let ports = match &self.settings.access {
            Access::Given(ports) => ports,
            Access::Connect(plane, settings) => {
                self.ports.get_or_try_init(|| plane.connect((**settings).clone())).await?
            }
        };
        let topic = of.partition.topic();
        let known = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(topic.to_owned()).or_default())
        };
        let mut known = known.lock().await;
        let mut is_fresh = known.is_none();
        if is_fresh {
            let origins = marks::Origins::read(ports, topic).await?;
            if !origins.exist() {
                // Where topics are subscribed to by a pattern, there is no end of names that a header can forge.
                self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(topic);
                return Ok(None);
            }
            *known = Some(origins);
        }
        let Some(known) = known.as_mut() else { return Ok(None) };
        let place = Place::new(of.partition.partition(), of.offset);
        loop {
            let mark = known.mark(place).await?;
            let believed = mark.filter(|mark| mark.vouches_for(id, &at));
            // The mark of a record is written before the record, as a claim: it is there, or on a second look.
            if is_fresh || believed.as_ref().is_some_and(is_final) {
                return Ok(believed.and_then(|mark| mark.lineage?.origin));
            }
            known.refresh().await?;
            is_fresh = true;
        }
    }
}

fn is_final(mark: &Mark) -> bool {
    !matches!(mark.outcome, Outcome::Claimed { .. })
}

impl fmt::Debug for Origins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Origins")
    }
}
