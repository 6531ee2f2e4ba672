use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::broker::ErrorCode;
use crate::record::TopicPartition;

/// `FETCH_SESSION_ID_NOT_FOUND`.
pub(super) const ID_NOT_FOUND: ErrorCode = ErrorCode(70);
/// `INVALID_FETCH_SESSION_EPOCH`.
pub(super) const INVALID_EPOCH: ErrorCode = ErrorCode(71);
/// `FETCH_SESSION_TOPIC_ID_ERROR`.
pub(super) const TOPIC_ID_ERROR: ErrorCode = ErrorCode(106);

/// A request of this epoch names all partitions and begins a session.
const FIRST: i32 = 0;

/// What a session knows a partition by: in requests by topic id, two topics of one name are two.
pub(super) type Key = (TopicPartition, Option<Uuid>);

/// What is asked for of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) offset: i64,
    pub(super) max_bytes: i32,
    /// The epoch of the leader that is asked; -1 where it is not known.
    pub(super) leader_epoch: i32,
    /// The epoch of the batch before `offset`; -1 where it is not known.
    pub(super) fetched_epoch: i32,
}

/// What a request says of its session, and which partitions it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) id: i32,
    pub(super) epoch: i32,
    pub(super) named: Vec<(Key, Wanted)>,
    pub(super) forgotten: Vec<Key>,
}

/// A fetch session (KIP-227): the broker remembers what was asked for, so that requests name only what has changed, and
/// answers only what has news. One request is under way at a time.
///
/// It follows from what the broker may do: answer session id 0 (it keeps no session: every request then names all),
/// forget the session ([`ID_NOT_FOUND`]), or find it out of step (the other errors; the next request ends it and
/// begins another).
#[derive(Debug, Default)]
pub(super) struct Session {
    id: i32,
    epoch: i32,
    /// What the broker remembers once the request under way has arrived.
    held: HashMap<Key, Known>,
    by_id: bool,
}

/// What both sides know of a partition.
#[derive(Debug, Clone, Copy)]
struct Known {
    wanted: Wanted,
    /// Where its log ends, which the broker tells again only when it has changed.
    end: Option<i64>,
}

impl Known {
    fn new((key, wanted): &(Key, Wanted)) -> (Key, Self) {
        (key.clone(), Self { wanted: *wanted, end: None })
    }
}

impl Session {
    /// Whether an error of an answer as a whole is about its session.
    pub(super) fn concerns(code: ErrorCode) -> bool {
        [ID_NOT_FOUND, INVALID_EPOCH, TOPIC_ID_ERROR].contains(&code)
    }

    /// The next request, which asks for `wanted` and nothing else; `by_id` where it names topics by their ids.
    pub(super) fn plan(&mut self, wanted: &[(Key, Wanted)], by_id: bool) -> Plan {
        if by_id != self.by_id {
            // One session cannot have both.
            self.epoch = FIRST;
            self.by_id = by_id;
        }
        if self.epoch == FIRST {
            self.held = wanted.iter().map(Known::new).collect();
            return Plan { id: self.id, epoch: FIRST, named: wanted.to_vec(), forgotten: Vec::new() };
        }
        let mut named = Vec::new();
        for asked in wanted {
            match self.held.get_mut(&asked.0) {
                Some(known) if known.wanted == asked.1 => continue,
                Some(known) => known.wanted = asked.1,
                None => self.held.extend([Known::new(asked)]),
            }
            named.push(asked.clone());
        }
        let mut forgotten = Vec::new();
        if self.held.len() > wanted.len() {
            let kept: HashSet<&Key> = wanted.iter().map(|(key, _)| key).collect();
            forgotten.extend(self.held.keys().filter(|key| !kept.contains(key)).cloned());
            self.held.retain(|key, _| kept.contains(key));
        }
        Plan { id: self.id, epoch: self.epoch, named, forgotten }
    }

    /// What the session knows a partition by.
    pub(super) fn key(&self, partition: &TopicPartition, topic_id: Option<Uuid>) -> Key {
        (partition.clone(), topic_id.filter(|_| self.by_id))
    }

    /// The broker told where a log ends.
    pub(super) fn ends_at(&mut self, key: &Key, end: i64) {
        if let Some(known) = self.held.get_mut(key).filter(|_| end >= 0) {
            known.end = Some(end);
        }
    }

    /// Where a log ends, as the broker last told.
    pub(super) fn end(&self, key: &Key) -> Option<i64> {
        self.held.get(key)?.end
    }

    /// The request was answered, with this session id.
    pub(super) fn answered(&mut self, id: i32) {
        if id <= 0 {
            *self = Self { by_id: self.by_id, ..Self::default() };
        } else {
            self.id = id;
            self.epoch = self.epoch.checked_add(1).unwrap_or(1);
        }
    }

    /// The request was refused as a whole.
    pub(super) fn refused(&mut self, code: ErrorCode) {
        if code == ID_NOT_FOUND {
            self.id = 0;
        }
        self.epoch = FIRST;
    }

    /// The request may or may not have arrived.
    pub(super) fn failed(&mut self) {
        self.epoch = FIRST;
    }
}

#[cfg(test)]
mod tests;
