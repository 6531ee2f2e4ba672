use std::fmt;
use std::sync::Arc;

use tokio::sync::{broadcast, watch};

use super::present::Present;
use super::tap::{GivenUp, Tap};
use super::{Event, Exhausted, brief, log};
use crate::metrics::Meter;

/// Reads a consumer's events. Each stream gets every event from the moment it was made; one that falls more than
/// 16,384 events behind gets [`Event::Missed`] in place of the oldest.
#[derive(Debug)]
pub struct EventStream {
    receiver: broadcast::Receiver<Event>,
}

impl EventStream {
    /// Waits for the next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        match self.receiver.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Event::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The next event if it is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        match self.receiver.try_recv() {
            Ok(event) => Some(event),
            Err(broadcast::error::TryRecvError::Lagged(missed)) => Some(Event::Missed(missed)),
            Err(_) => None,
        }
    }
}

/// The sending side.
#[derive(Clone)]
pub(crate) struct Events {
    sender: broadcast::Sender<Event>,
    /// How many partitions the consumer has as a member of its group, as its events say; `None` while it is none.
    joined: watch::Sender<Option<usize>>,
    /// Counts what is told, before anybody else hears of it.
    meter: Arc<Meter>,
    present: Arc<Present>,
    tap: Arc<Tap>,
}

/// How many events a stream may lag behind.
const CAPACITY: usize = 16_384;

impl Events {
    pub(crate) fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(CAPACITY),
            joined: watch::Sender::new(None),
            meter: Arc::default(),
            present: Arc::default(),
            tap: Arc::default(),
        }
    }

    /// What the monitor learns of dead letters as they happen.
    pub(crate) fn tap(&self) -> &Tap {
        &self.tap
    }

    /// The same as [`emit`](Self::emit) with [`Event::Alert`], of which the monitor learns too.
    pub(crate) fn alert(&self, record: GivenUp) {
        self.tap.given_up(&record);
        let GivenUp { record, category, page, message, .. } = record;
        self.emit(Event::Alert { record, category, page, message });
    }

    /// The consumer's counts.
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// What of the events still holds.
    pub(crate) fn present(&self) -> &Present {
        &self.present
    }

    pub(crate) fn subscribe(&self) -> EventStream {
        EventStream { receiver: self.sender.subscribe() }
    }

    /// How many partitions the consumer has in its group, for those who come after [`Event::Joined`]; `None` while it is no
    /// member.
    pub(crate) fn joined(&self) -> watch::Receiver<Option<usize>> {
        self.joined.subscribe()
    }

    /// The same as [`emit`](Self::emit) with the event, which is made only where it is needed.
    pub(crate) fn exhausted(&self, exhausted: Exhausted<'_>) {
        if self.sender.receiver_count() > 0 || !exhausted.is_brief() {
            self.emit(exhausted.to_event());
        } else {
            log::exhausted(exhausted);
        }
    }

    /// Logs the event and puts it on the streams.
    pub(crate) fn emit(&self, mut event: Event) {
        brief::shorten(&mut event);
        log::log(&event);
        self.meter.observe(&event);
        self.present.observe(&event);
        match &event {
            Event::Joined { partitions, .. } => drop(self.joined.send_replace(Some(*partitions))),
            // It joins anew.
            Event::Lost { .. } => drop(self.joined.send_replace(None)),
            _ => {}
        }
        // No stream is no error.
        let _ = self.sender.send(event);
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}
