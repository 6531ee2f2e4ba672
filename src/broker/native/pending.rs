use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// The frame of an answer, or why there will be none.
pub(super) type Answer = Result<Bytes, String>;

/// The answers that a connection waits for, and whether it may send.
#[derive(Default)]
pub(super) struct Pending {
    state: Mutex<State>,
    ended: Notify,
}

#[derive(Default)]
struct State {
    answers: HashMap<i32, Waiting>,
    /// The broker's throttling: nothing is sent before then.
    muted_until: Option<Instant>,
    /// Why the connection ended, once it did.
    closed: Option<String>,
    /// Whether it ended because of the size of an answer.
    too_large: bool,
}

struct Waiting {
    answer: oneshot::Sender<Answer>,
    /// Whether the request was handed to the stream.
    sent: bool,
}

impl Pending {
    /// Expects the answer to a request that is about to be queued.
    pub(super) fn expect(&self, id: i32) -> Result<oneshot::Receiver<Answer>, String> {
        let mut state = self.lock();
        if let Some(cause) = &state.closed {
            return Err(cause.clone());
        }
        let (answer, receiver) = oneshot::channel();
        state.answers.insert(id, Waiting { answer, sent: false });
        Ok(receiver)
    }

    /// Notes that a request is being sent. False if nobody waits for its answer any more: it is not to be sent then.
    pub(super) fn sending(&self, id: i32) -> bool {
        let mut state = self.lock();
        match state.answers.get_mut(&id) {
            Some(waiting) if !waiting.answer.is_closed() => waiting.sent = true,
            _ => {
                state.answers.remove(&id);
                return false;
            }
        }
        true
    }

    /// Takes a request back that throttling keeps from being sent; false if that is not what it waits for.
    pub(super) fn take_back(&self, id: i32) -> bool {
        let mut state = self.lock();
        let muted = state.muted_until.is_some_and(|until| until >= Instant::now());
        let unsent = state.answers.get(&id).is_some_and(|waiting| !waiting.sent);
        if muted && unsent {
            state.answers.remove(&id);
        }
        muted && unsent
    }

    /// Hands an answer to who waits for it.
    pub(super) fn deliver(&self, frame: Bytes) -> Result<(), String> {
        let id = frame.as_ref().try_get_i32().map_err(|_| "answer without a correlation id".to_owned())?;
        let mut state = self.lock();
        if !state.answers.get(&id).is_some_and(|waiting| waiting.sent) {
            return Err(format!("answer to no request ({id})"));
        }
        if let Some(waiting) = state.answers.remove(&id) {
            // Nobody waits any more where the caller was dropped.
            let _ = waiting.answer.send(Ok(frame));
        }
        Ok(())
    }

    /// Lets nothing be sent for `pause`.
    pub(super) fn mute(&self, pause: Duration) {
        let mut state = self.lock();
        state.muted_until = state.muted_until.max(Some(Instant::now() + pause));
    }

    /// When something may be sent, if that is later than now.
    pub(super) fn muted_until(&self) -> Option<Instant> {
        self.lock().muted_until.filter(|until| *until > Instant::now())
    }

    /// How long it would take until something sent now is answered, as far as one can tell: whether it waits for the end
    /// of throttling, and how many answers come before.
    pub(super) fn load(&self) -> (bool, usize) {
        let state = self.lock();
        (state.muted_until.is_some_and(|until| until > Instant::now()), state.answers.len())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed.is_some()
    }

    /// Ends the connection: whoever waits gets `cause`, and so does whoever comes.
    pub(super) fn close(&self, cause: &str) {
        let mut state = self.lock();
        state.closed.get_or_insert_with(|| cause.to_owned());
        for (_, waiting) in state.answers.drain() {
            let _ = waiting.answer.send(Err(cause.to_owned()));
        }
        drop(state);
        self.ended.notify_one();
    }

    /// Notes that an answer is too large to be received, which is about to end the connection.
    pub(super) fn note_too_large(&self) {
        self.lock().too_large = true;
    }

    /// Whether an answer was too large to be received.
    pub(super) fn met_too_large(&self) -> bool {
        self.lock().too_large
    }

    /// Waits for [`close`](Self::close).
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Held for short, consistent changes only.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
