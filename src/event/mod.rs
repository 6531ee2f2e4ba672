//! What a consumer does, as it happens: a public stream of events, each also a `tracing` event.
//!
//! An event is put on the stream before what follows from it: the retry it announces, the record after a dead letter.
//! Texts in events are cut at 2 KiB, since a slow reader's events wait in memory; dead letters have limits of their own.

mod brief;
mod exhausted;
mod log;
mod present;
mod stream;
mod tap;

use std::time::Duration;

pub(crate) use exhausted::Exhausted;
#[cfg(feature = "web")]
pub(crate) use present::State as PresentState;
pub use stream::EventStream;
pub(crate) use stream::Events;
pub(crate) use tap::{GivenUp, LetterGroup, Letters};

use crate::policy::Category;
use crate::record::{RecordId, TopicPartition};

/// One thing that a consumer did or met.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The consumer runs.
    Started {
        /// The group.
        group: String,
        /// How many partitions it has; 0 for a member of a group, which is told later ([`Event::Joined`]).
        partitions: usize,
    },
    /// A partition is about to be processed.
    Assigned {
        /// The partition.
        partition: TopicPartition,
        /// The first offset to be delivered.
        offset: i64,
        /// Whether the group had no valid committed offset, so that the reset policy chose it.
        reset: bool,
    },
    /// A partition was given up to the group: what was in flight is finished or dropped, and another member goes on at the
    /// offset committed.
    Revoked {
        /// The partition.
        partition: TopicPartition,
        /// The offset that was committed last; the one that it began at, where it was moving to another.
        committed: i64,
    },
    /// A partition was taken away: the group has gone on without this member, or may have. What was in flight was dropped, and
    /// nothing of it is committed or dead-lettered any more. Whoever has the partition now handles again what was not
    /// committed.
    Lost {
        /// The partition.
        partition: TopicPartition,
        /// Why.
        reason: String,
    },
    /// Nothing new of a partition is delivered until it is resumed.
    Paused {
        /// The partition.
        partition: TopicPartition,
    },
    /// A partition goes on after [`Event::Paused`].
    Resumed {
        /// The partition.
        partition: TopicPartition,
    },
    /// A partition goes on at another offset, as it was asked to.
    Sought {
        /// The partition.
        partition: TopicPartition,
        /// The offset that would have been delivered next.
        from: i64,
        /// The offset that it goes on at.
        to: i64,
    },
    /// The consumer became a member of its group, or what it has in it changed.
    Joined {
        /// The group.
        group: String,
        /// The member id.
        member_id: String,
        /// The group's generation (classic protocol) or the member's epoch (KIP-848).
        epoch: i32,
        /// `classic` or `consumer`.
        protocol: &'static str,
        /// The assignor in use; empty where the broker chose it.
        assignor: String,
        /// How many partitions are assigned to it.
        partitions: usize,
    },
    /// The group's coordinator cannot be reached or does not answer for now, or does what is not understood; it is tried
    /// again. Reported once per streak.
    GroupTrouble {
        /// Why.
        reason: String,
    },
    /// What [`Event::GroupTrouble`] told of works again. Its causes overlap: each that ends is told.
    GroupRecovered,
    /// A topic that the consumer subscribes to does not exist, or not any more; it is read once it is there.
    TopicMissing {
        /// The topic.
        topic: String,
    },
    /// A delivery failed and the record is delivered again after a wait; nothing on its partition overtakes it.
    Retrying {
        /// The record.
        record: RecordId,
        /// What the failure was classified as.
        category: Category,
        /// The error's type.
        error_type: String,
        /// The error's message with its causes.
        message: String,
        /// Which attempt failed, 1 for the first.
        attempt: u32,
        /// How many attempts the policy allows.
        max_attempts: u32,
        /// The wait before the next attempt.
        backoff: Duration,
    },
    /// A record will not be delivered again; its dead letter is handed over for publishing.
    Exhausted {
        /// The record.
        record: RecordId,
        /// What the last failure was classified as.
        category: Category,
        /// The error's type.
        error_type: String,
        /// The error's message with its causes.
        message: String,
        /// How many attempts failed.
        attempts: u32,
        /// The topic that the dead letter goes to.
        dead_letter_topic: String,
    },
    /// A dead letter was acknowledged by the broker: its record is settled.
    DeadLettered {
        /// The record.
        record: RecordId,
        /// What its last failure was classified as.
        category: Category,
        /// The error's type.
        error_type: String,
        /// The error's message with its causes.
        message: String,
        /// How many attempts failed.
        attempts: u32,
        /// Where the dead letter is.
        dead_letter: TopicPartition,
        /// Its offset there.
        dead_letter_offset: i64,
        /// What had to be left out because the broker refused the whole: empty, or e.g. `value`.
        left_out: String,
    },
    /// A record of a category whose policy asks for it was dead-lettered, skipped or stopped at: somebody should look
    /// (`page`: now).
    Alert {
        /// The record.
        record: RecordId,
        /// Its category.
        category: Category,
        /// Whether the policy asks to wake somebody.
        page: bool,
        /// The error's message with its causes.
        message: String,
    },
    /// A record was left out because its category's policy says `skip`.
    Skipped {
        /// The record.
        record: RecordId,
        /// Its category.
        category: Category,
        /// The error's message with its causes.
        message: String,
    },
    /// A handler panicked or exceeded the poison timeout; a fresh one takes its place.
    HandlerLost {
        /// The record that was in flight.
        record: RecordId,
        /// `panic` or `timeout`.
        fault: String,
        /// The message.
        message: String,
        /// `file:line:column` of a panic, where known.
        location: Option<String>,
    },
    /// A partition actor could not start or go on, through no fault of a record; it is started again after a wait.
    RestartScheduled {
        /// The partition.
        partition: TopicPartition,
        /// Why.
        reason: String,
        /// Restarts within the policy's window, this one included.
        restarts: u32,
        /// The wait before it.
        backoff: Duration,
    },
    /// A partition is processed no longer, by policy; the others go on.
    PartitionStopped {
        /// The partition.
        partition: TopicPartition,
        /// The offset that it stopped at.
        offset: i64,
        /// Why.
        reason: String,
    },
    /// Dead letters cannot be published for now: their records stay unsettled, and partitions that have their share of
    /// unacknowledged ones wait. It is tried again with backoff.
    Held {
        /// Where the dead letters should go.
        dead_letter: TopicPartition,
        /// Why not.
        reason: String,
        /// How many dead letters wait.
        waiting: usize,
    },
    /// Dead letters can be published again after [`Event::Held`].
    Released {
        /// Where they go.
        dead_letter: TopicPartition,
    },
    /// The broker refused a dead letter for good; it is published with less.
    DeadLetterReduced {
        /// The record.
        record: RecordId,
        /// What is left out now.
        left_out: String,
        /// Why.
        reason: String,
    },
    /// Reading a partition fails for now; it is tried again.
    ReadFailing {
        /// The partition.
        partition: TopicPartition,
        /// Why.
        reason: String,
    },
    /// Reading works again after [`Event::ReadFailing`].
    ReadRecovered {
        /// The partition.
        partition: TopicPartition,
    },
    /// The offset to read is not in the log: the reset policy chose another. Records in between were removed by the
    /// broker's retention, or by somebody who deleted the topic or its records.
    OffsetReset {
        /// The partition.
        partition: TopicPartition,
        /// The offset that was to be read.
        from: i64,
        /// The one chosen.
        to: i64,
        /// Why.
        reason: String,
    },
    /// Offsets were committed.
    Committed {
        /// How many partitions' offsets.
        partitions: usize,
    },
    /// Offsets cannot be committed for now; it is tried again at each commit interval. Reported once per streak.
    CommitFailing {
        /// Why.
        reason: String,
    },
    /// User code other than a handler (classifier, router, redactor) panicked or chose what cannot be; the built-in
    /// behaviour took its place.
    HookFailed {
        /// Which.
        hook: &'static str,
        /// What went wrong.
        message: String,
    },
    /// The consumer stops taking records and drains.
    Stopping {
        /// Why.
        reason: String,
    },
    /// The consumer has stopped.
    Stopped,
    /// The reader of the stream was too slow: this many events are missing here.
    Missed(u64),
}
