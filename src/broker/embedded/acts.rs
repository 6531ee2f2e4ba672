//! What tests do to logs behind the protocol's back, and what they see there.

use bytes::Bytes;
use kafka_protocol::ResponseError;
use uuid::Uuid;

use super::apis::delete_records;
use super::broker::{Broker, refuse, unknown};
use super::error::EmbeddedError;
use super::log::Log;
use super::state::{Refused, State};
use crate::broker::batch::{BatchHeader, BatchWriter, StoredRecord};

impl Broker {
    /// Appends a record batch as it is, whatever a producer would be allowed to send (see
    /// [`BatchWriter`](super::BatchWriter)), and returns the offset it got. Length, magic and CRC must be right.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such partition, or the bytes are not one batch.
    pub fn append_raw(&self, topic: &str, partition: i32, batch: Bytes) -> Result<i64, EmbeddedError> {
        let doing = format!("appending a batch to {topic}/{partition}");
        let checked = BatchHeader::check(&batch)
            .map_err(|error| error.to_string())
            .and_then(|header| if header.size == batch.len() { Ok(header) } else { Err("more than one batch".into()) });
        let header = match checked {
            Ok(header) => header,
            Err(message) => return Err(refuse(doing, Refused::new(ResponseError::CorruptMessage, message))),
        };
        self.change_log(doing, topic, partition, |log| log.append(header, &batch, None))
    }

    /// Leaves `count` offsets at the end of a partition without any batch, as compaction does; returns the new end.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such partition.
    pub fn leave_gap(&self, topic: &str, partition: i32, count: i64) -> Result<i64, EmbeddedError> {
        let doing = format!("leaving a gap in {topic}/{partition}");
        self.change_log(doing, topic, partition, |log| {
            log.skip(count);
            log.end()
        })
    }

    /// Moves the start of a partition to `offset`, as retention does; records before it are gone.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such partition, or the offset is past its end.
    pub fn delete_records_before(&self, topic: &str, partition: i32, offset: i64) -> Result<(), EmbeddedError> {
        let doing = format!("deleting records of {topic}/{partition} before offset {offset}");
        self.server.with(|core, _| match delete_records::delete(&mut core.state, topic, partition, offset) {
            Ok(_) => Ok(()),
            Err(error) => Err(refuse(doing, Refused::new(error, "no such partition, or an offset past its end"))),
        })
    }

    /// Moves the start of a partition to `offset`, even past its end: the end is there too then, and no record is left,
    /// as after retention has run. An offset below the start changes nothing.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such partition.
    pub fn set_log_start(&self, topic: &str, partition: i32, offset: i64) -> Result<(), EmbeddedError> {
        let doing = format!("moving the start of {topic}/{partition} to offset {offset}");
        self.change_log(doing, topic, partition, |log| log.set_start(offset))
    }

    /// Keeps only the last record of each key, as Kafka's log cleaner does, whatever the topic's configuration: offsets
    /// stay what they are, batches cover the range that they covered before and hold fewer records, some none, and
    /// others are gone. Records without a key and of aborted transactions go; markers and tombstones stay. Nothing from
    /// the first open transaction on is touched.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such partition.
    pub fn compact(&self, topic: &str, partition: i32) -> Result<(), EmbeddedError> {
        self.change_log(format!("compacting {topic}/{partition}"), topic, partition, Log::compact)
    }

    /// Leaves a transaction open that no producer will ever end and no timeout abort, with one record in a partition:
    /// readers of committed records stop there. Returns the id of its producer, for
    /// [`end_hanging_transaction`](Self::end_hanging_transaction).
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such partition.
    pub fn hang_transaction(&self, topic: &str, partition: i32) -> Result<i64, EmbeddedError> {
        let producer_id = self.server.with(|core, _| core.state.new_producer_id());
        let batch = BatchWriter::new().producer(producer_id, 0, 0).transactional();
        self.append_raw(topic, partition, batch.record(Some(b"hanging"), Some(b"hanging"), Vec::new()).build())?;
        Ok(producer_id)
    }

    /// Ends a hanging transaction in one partition, as `kafka-transactions.sh` does: its marker is written. Returns the
    /// marker's offset.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such partition.
    pub fn end_hanging_transaction(
        &self,
        topic: &str,
        partition: i32,
        producer_id: i64,
        committed: bool,
    ) -> Result<i64, EmbeddedError> {
        let marker = BatchWriter::marker(producer_id, 0, committed).build();
        self.append_raw(topic, partition, marker)
    }

    /// Begins the next leader epoch of a partition, as an election does that loses nothing, and returns it. Clients
    /// that still name the last one are answered with FENCED_LEADER_EPOCH.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such partition.
    pub fn bump_leader_epoch(&self, topic: &str, partition: i32) -> Result<i32, EmbeddedError> {
        let doing = format!("electing a leader of {topic}/{partition}");
        self.change_log(doing, topic, partition, |log| {
            log.bump_epoch();
            log.leader_epoch()
        })
    }

    /// Lets a partition lose its records from `offset` on, as an unclean election of a leader does that lacks them: its
    /// end goes back, and the next leader epoch begins. A batch that holds `offset` is lost whole. Returns the end.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such partition.
    pub fn truncate(&self, topic: &str, partition: i32, offset: i64) -> Result<i64, EmbeddedError> {
        let doing = format!("truncating {topic}/{partition} to offset {offset}");
        self.change_log(doing, topic, partition, |log| {
            log.truncate(offset);
            log.end()
        })
    }

    /// The epoch of a partition's leader.
    pub fn leader_epoch(&self, topic: &str, partition: i32) -> Option<i32> {
        self.server.with(|core, _| Some(core.state.topics.get(topic)?.log(partition)?.leader_epoch()))
    }

    /// All records of a partition, control records included, nothing lost.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such partition, [`EmbeddedError::Unreadable`] where a batch
    /// does not hold what it states.
    pub fn records(&self, topic: &str, partition: i32) -> Result<Vec<StoredRecord>, EmbeddedError> {
        let doing = format!("reading records of {topic}/{partition}");
        self.server.with(|core, _| {
            let log = core.state.topics.get(topic).and_then(|topic| topic.log(partition));
            let log = log.ok_or_else(|| refuse(doing, unknown()))?;
            log.records().ok_or_else(|| EmbeddedError::Unreadable { topic: topic.to_owned(), partition })
        })
    }

    fn change_log<T>(
        &self,
        doing: String,
        topic: &str,
        partition: i32,
        change: impl FnOnce(&mut Log) -> T,
    ) -> Result<T, EmbeddedError> {
        self.server.with(|core, _| match find_log(&mut core.state, topic, partition) {
            Some((id, log)) => {
                let result = change(log);
                core.state.touch(id, partition);
                Ok(result)
            }
            None => Err(refuse(doing, unknown())),
        })
    }
}

fn find_log<'a>(state: &'a mut State, topic: &str, partition: i32) -> Option<(Uuid, &'a mut Log)> {
    let topic = state.topics.get_mut(topic)?;
    Some((topic.id, topic.log_mut(partition)?))
}
