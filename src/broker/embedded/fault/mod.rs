//! What can be made to go wrong with requests and their answers.

mod plan;
mod spoil;

use std::time::Duration;

pub use plan::Injected;
pub(crate) use plan::{Errors, Faults, Plan};
pub(crate) use spoil::{Spoil, Spoils, Throttled};

use super::api::Api;
use crate::broker::ErrorCode;

/// Something that goes wrong with the next requests of a kind, or with the answers to them.
///
/// ```
/// use std::time::Duration;
/// use bezoar::broker::ErrorCode;
/// use bezoar::embedded::{Api, Fault};
///
/// let refused = Fault::on(Api::Produce).topic("orders").partition(0).times(3).error(ErrorCode::MESSAGE_TOO_LARGE);
/// let slow = Fault::on(Api::Fetch).forever().delay(Duration::from_millis(50));
/// let lost_answer = Fault::on(Api::OffsetCommit).after(2).drop_after_effect();
/// let corrupt = Fault::on(Api::Fetch).topic("orders").wrong_crc();
/// # let _ = (refused, slow, lost_answer, corrupt);
/// ```
#[derive(Debug, Clone)]
pub struct Fault {
    filter: Filter,
    skip: u64,
    left: Option<u64>,
    pub(super) kind: FaultKind,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    Error(ErrorCode),
    Delay(Duration),
    DropBefore,
    DropAfter,
    Throttle(Duration),
    Spoil(Spoil),
}

impl FaultKind {
    /// Whether it is about what is answered, and not about what is asked.
    fn is_about_answers(self) -> bool {
        matches!(self, Self::Throttle(_) | Self::Spoil(_))
    }
}

/// Which requests a [`Fault`] is for, until it is said what goes wrong with them.
#[derive(Debug, Clone)]
#[must_use = "say what goes wrong: error, delay, drop_before_effect, garbage, wrong_crc, …"]
pub struct FaultOn {
    filter: Filter,
    skip: u64,
    times: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    api: Api,
    topic: Option<String>,
    partition: Option<i32>,
}

/// A topic, and a partition of it where requests name one.
pub(crate) type Touched<'a> = (&'a str, Option<i32>);

impl Filter {
    fn matches(&self, api: Api, touched: &[Touched<'_>]) -> bool {
        self.api == api && (self.is_open() || touched.iter().any(|one| self.covers(*one)))
    }

    /// Whether it names neither topic nor partition.
    fn is_open(&self) -> bool {
        self.topic.is_none() && self.partition.is_none()
    }

    fn covers(&self, (topic, partition): Touched<'_>) -> bool {
        self.topic.as_deref().is_none_or(|wanted| wanted == topic)
            && self.partition.is_none_or(|wanted| Some(wanted) == partition)
    }
}

impl Fault {
    /// A fault for the next request of this kind.
    pub fn on(api: Api) -> FaultOn {
        FaultOn { filter: Filter { api, topic: None, partition: None }, skip: 0, times: Some(1) }
    }
}

impl FaultOn {
    /// Only for requests that name this topic.
    pub fn topic(mut self, name: impl Into<String>) -> Self {
        self.filter.topic = Some(name.into());
        self
    }

    /// Only for requests that name this partition.
    pub fn partition(mut self, partition: i32) -> Self {
        self.filter.partition = Some(partition);
        self
    }

    /// For so many requests. Default 1.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// For all requests, until it is [removed](Injected::remove).
    pub fn forever(mut self) -> Self {
        self.times = None;
        self
    }

    /// Not for the first `skip` requests that it would be for.
    pub fn after(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    /// The request has no effect and is answered with this code: for the partitions that the fault is for, others
    /// in the same request being served; for the request as a whole where its API knows no partitions.
    pub fn error(self, code: ErrorCode) -> Fault {
        self.build(FaultKind::Error(code))
    }

    /// The request is held this long before it takes effect.
    pub fn delay(self, delay: Duration) -> Fault {
        self.build(FaultKind::Delay(delay))
    }

    /// The connection is closed, and the request has no effect.
    pub fn drop_before_effect(self) -> Fault {
        self.build(FaultKind::DropBefore)
    }

    /// The request takes effect, and the connection is closed in place of an answer.
    pub fn drop_after_effect(self) -> Fault {
        self.build(FaultKind::DropAfter)
    }

    /// The answer says that the client is to wait this long before its next request (`throttle_time_ms`); it comes at
    /// once all the same, as in Kafka.
    pub fn throttle(self, time: Duration) -> Fault {
        self.build(FaultKind::Throttle(time))
    }

    /// The answer comes with the correlation id of another request.
    pub fn wrong_correlation_id(self) -> Fault {
        self.build(FaultKind::Spoil(Spoil::WrongCorrelation))
    }

    /// In place of what follows the correlation id come as many bytes of noise, the same each time.
    pub fn garbage(self) -> Fault {
        self.build(FaultKind::Spoil(Spoil::Garbage))
    }

    /// The answer ends after `bytes` of those that follow its frame's length, and the length says so: a frame that is
    /// whole around a message that is not.
    pub fn cut_short(self, bytes: usize) -> Fault {
        self.build(FaultKind::Spoil(Spoil::CutShort(bytes)))
    }

    /// The connection is closed after `bytes` of the answer, its frame's length among them.
    pub fn break_off(self, bytes: usize) -> Fault {
        self.build(FaultKind::Spoil(Spoil::BreakOff(bytes)))
    }

    /// The answer comes in two pieces: `bytes` of it, its frame's length among them, and after `pause` the rest.
    pub fn in_two_pieces(self, bytes: usize, pause: Duration) -> Fault {
        self.build(FaultKind::Spoil(Spoil::Torn { bytes, pause }))
    }

    /// The answer's frame announces this length, whatever it holds: one beyond a client's limit, beyond what there is,
    /// or a negative one.
    pub fn frame_length(self, length: i32) -> Fault {
        self.build(FaultKind::Spoil(Spoil::FrameLength(length)))
    }

    /// The first array of the answer announces so many elements, whatever it holds: far too many, or fewer than none.
    /// An answer without an array comes as it is, and the fault waits for another.
    pub fn array_count(self, count: i32) -> Fault {
        self.build(FaultKind::Spoil(Spoil::ArrayCount(count)))
    }

    /// The first record batch of the answer has a wrong CRC. Like all that is about batches it waits for an answer
    /// that has one, to a fetch.
    pub fn wrong_crc(self) -> Fault {
        self.build(FaultKind::Spoil(Spoil::WrongCrc))
    }

    /// The first record batch of the answer announces this length, which counts what follows it.
    pub fn batch_length(self, length: i32) -> Fault {
        self.build(FaultKind::Spoil(Spoil::BatchLength(length)))
    }

    /// The first record batch of the answer announces so many records, and its CRC is right.
    pub fn record_count(self, count: i32) -> Fault {
        self.build(FaultKind::Spoil(Spoil::RecordCount(count)))
    }

    fn build(self, kind: FaultKind) -> Fault {
        Fault { filter: self.filter, skip: self.skip, left: self.times, kind }
    }
}
