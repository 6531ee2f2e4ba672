//! Fetch sessions (KIP-227): the partitions of a client's last fetch, so that it need name only what changes, and what
//! it was told of them, so that it hears only of what changed. They belong to no connection.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::fetch_request::FetchPartition;
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::{FetchRequest, TopicName};
use uuid::Uuid;

/// The first version whose requests name topics by id.
pub(crate) const IDS_SINCE: i16 = 13;
/// How long a session is kept at least since it was last used, as in Kafka
/// (`min.incremental.fetch.session.eviction.ms`).
const KEPT: Duration = Duration::from_secs(120);
/// The session epoch of a fetch that opens a session.
const OPENING: i32 = 0;
/// The session epoch of a fetch that wants no session and closes the one that it names.
const CLOSING: i32 = -1;

/// A partition as a fetch names it: by its topic's name, or by id with an empty name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) topic: TopicName,
    pub(crate) id: Uuid,
    pub(crate) partition: i32,
}

/// A partition that is to be fetched.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) key: Key,
    pub(crate) wanted: FetchPartition,
}

/// What one fetch is about; it stays the same while the fetch waits.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) asked: Vec<Asked>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Without a session.
    Alone,
    /// Opens a session.
    Opening {
        uses_ids: bool,
    },
    /// Within a session, whose epoch has become this one.
    Within {
        session: i32,
        epoch: i32,
    },
    Refused(ResponseError),
}

/// All sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    by_id: HashMap<i32, Session>,
    most: usize,
    last_id: i32,
}

#[derive(Debug)]
struct Session {
    /// That of the next fetch.
    epoch: i32,
    uses_ids: bool,
    last_used: Duration,
    /// In the order in which they are served.
    partitions: BTreeMap<u64, Cached>,
    places: HashMap<Key, u64>,
    next_place: u64,
}

#[derive(Debug)]
struct Cached {
    asked: Asked,
    /// What the client was told last; -1 for nothing.
    high_watermark: i64,
    log_start: i64,
}

impl Context {
    /// Why the fetch is refused as a whole.
    pub(crate) fn refused(&self) -> Option<ResponseError> {
        match self.kind {
            Kind::Refused(error) => Some(error),
            _ => None,
        }
    }
}

impl Sessions {
    /// No sessions, of which there will be `most` at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self { by_id: HashMap::new(), most, last_id: 0 }
    }

    /// Forgets all, as a broker does that restarts.
    pub(crate) fn clear(&mut self) {
        self.by_id.clear();
    }

    /// The partitions that a fetch is about, without effect on its session.
    pub(crate) fn peek<'a>(&'a self, request: &'a FetchRequest) -> impl Iterator<Item = Key> + 'a {
        let session = self.by_id.get(&request.session_id).filter(|_| request.session_epoch > OPENING);
        let kept = session.into_iter().flat_map(|session| session.places.keys().cloned());
        named(request).map(|asked| asked.key).chain(kept.filter(|key| !forgotten(request).any(|gone| gone == *key)))
    }

    /// Begins a fetch: its session takes over what it names and moves on to the next epoch.
    pub(crate) fn begin(&mut self, now: Duration, version: i16, request: &FetchRequest) -> Context {
        let uses_ids = version >= IDS_SINCE;
        if matches!(request.session_epoch, OPENING | CLOSING) {
            self.by_id.remove(&request.session_id);
            let kind = if request.session_epoch == OPENING { Kind::Opening { uses_ids } } else { Kind::Alone };
            return Context { asked: named(request).collect(), kind };
        }
        let refused = |error| Context { asked: Vec::new(), kind: Kind::Refused(error) };
        let Some(session) = self.by_id.get_mut(&request.session_id) else {
            return refused(ResponseError::FetchSessionIdNotFound);
        };
        if session.epoch != request.session_epoch {
            return refused(ResponseError::InvalidFetchSessionEpoch);
        }
        if session.uses_ids != uses_ids {
            return refused(ResponseError::FetchSessionTopicIdError);
        }
        session.last_used = now;
        session.epoch = session.epoch.checked_add(1).unwrap_or(1);
        for asked in named(request) {
            session.ask(asked, -1, -1);
        }
        for key in forgotten(request) {
            if let Some(place) = session.places.remove(&key) {
                session.partitions.remove(&place);
            }
        }
        if session.partitions.is_empty() {
            self.by_id.remove(&request.session_id);
            return Context { asked: Vec::new(), kind: Kind::Alone };
        }
        let asked = session.partitions.values().map(|cached| cached.asked.clone()).collect();
        Context { asked, kind: Kind::Within { session: request.session_id, epoch: session.epoch } }
    }

    /// Ends a fetch: returns its session, 0 for none, and leaves in `data` (one for each partition asked for) what the
    /// client does not know yet.
    pub(crate) fn end(
        &mut self,
        now: Duration,
        context: &Context,
        data: &mut Vec<(Key, PartitionData)>,
    ) -> Result<i32, ResponseError> {
        match context.kind {
            Kind::Refused(error) => Err(error),
            Kind::Alone => Ok(0),
            Kind::Opening { uses_ids } => Ok(self.open(now, uses_ids, context, data)),
            Kind::Within { session: id, epoch } => {
                let session = self.by_id.get_mut(&id).ok_or(ResponseError::FetchSessionIdNotFound)?;
                if session.epoch != epoch {
                    return Err(ResponseError::InvalidFetchSessionEpoch);
                }
                data.retain(|(key, data)| session.tell(key, data));
                Ok(id)
            }
        }
    }

    fn open(&mut self, now: Duration, uses_ids: bool, context: &Context, data: &[(Key, PartitionData)]) -> i32 {
        if self.by_id.len() >= self.most {
            let idle = |session: &Session| now.saturating_sub(session.last_used) > KEPT;
            let oldest = self.by_id.iter().filter(|(_, session)| idle(session));
            let Some(oldest) = oldest.min_by_key(|(_, session)| session.last_used).map(|(id, _)| *id) else { return 0 };
            self.by_id.remove(&oldest);
        }
        let mut session = Session {
            epoch: OPENING + 1,
            uses_ids,
            last_used: now,
            partitions: BTreeMap::new(),
            places: HashMap::new(),
            next_place: 0,
        };
        for (asked, (_, data)) in context.asked.iter().zip(data) {
            session.ask(asked.clone(), data.high_watermark, data.log_start_offset);
        }
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        self.by_id.insert(self.last_id, session);
        self.last_id
    }
}

impl Session {
    /// Takes a partition in, after the others, or notes what is newly wanted of one that is there.
    fn ask(&mut self, asked: Asked, high_watermark: i64, log_start: i64) {
        let known = self.places.get(&asked.key).and_then(|place| self.partitions.get_mut(place));
        match known {
            Some(cached) => cached.asked = asked,
            None => self.place(Cached { asked, high_watermark, log_start }),
        }
    }

    fn place(&mut self, cached: Cached) {
        self.places.insert(cached.asked.key.clone(), self.next_place);
        self.partitions.insert(self.next_place, cached);
        self.next_place += 1;
    }

    /// Notes what the client is told of a partition; false where it knows all of it.
    fn tell(&mut self, key: &Key, data: &PartitionData) -> bool {
        let Some(place) = self.places.get(key).copied() else { return false };
        let Some(mut cached) = self.partitions.remove(&place) else { return false };
        let has_records = data.records.as_ref().is_some_and(|records: &Bytes| !records.is_empty());
        let told = (cached.high_watermark, cached.log_start);
        (cached.high_watermark, cached.log_start) = (data.high_watermark, data.log_start_offset);
        let is_news = has_records
            || data.error_code != 0
            || data.diverging_epoch.epoch >= 0
            || told != (cached.high_watermark, cached.log_start);
        if data.error_code != 0 {
            // So that the end of the error is news.
            cached.high_watermark = -1;
        }
        if has_records {
            // Behind the others, which come first next time: room in an answer is shared fairly.
            self.place(cached);
        } else {
            self.partitions.insert(place, cached);
        }
        is_news
    }
}

fn named(request: &FetchRequest) -> impl Iterator<Item = Asked> + '_ {
    request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| {
            let key = Key { topic: topic.topic.clone(), id: topic.topic_id, partition: partition.partition };
            Asked { key, wanted: partition.clone() }
        })
    })
}

fn forgotten(request: &FetchRequest) -> impl Iterator<Item = Key> + '_ {
    request.forgotten_topics_data.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| Key {
            topic: topic.topic.clone(),
            id: topic.topic_id,
            partition: *partition,
        })
    })
}
