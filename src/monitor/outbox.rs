use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::alert::Alert;
use super::settings::name;
use super::sink::{Again, Sink, SinkError};
use crate::isolation::guard::Guarded;
use crate::policy::Backoff;

/// The most alerts that wait for a sink.
const CAPACITY: usize = 256;
/// How long passing an alert on may take.
const SEND: Duration = Duration::from_secs(30);
/// Waits between attempts.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_secs(1), 2.0, Duration::from_secs(60));
/// The longest that a receiver is left alone because it asks for it.
const LONGEST: Duration = Duration::from_secs(600);
/// How long a sink may take with what is left when nothing more comes.
pub(super) const FLUSH: Duration = Duration::from_secs(3);
/// How long the tasks may take to see that the time is over.
const GRACE: Duration = Duration::from_millis(250);

/// The queue of one sink, and the task that empties it. Dropped, it takes no more, and what is left has [`FLUSH`].
pub(super) struct Outbox {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    queue: Mutex<Queue>,
    /// Told of new alerts, and of the end.
    changed: Notify,
    /// Told when the task has ended.
    ended: tokio::sync::watch::Sender<bool>,
}

#[derive(Default)]
struct Queue {
    alerts: VecDeque<Arc<Alert>>,
    /// How many were given up since the sink worked last.
    lost: u64,
    /// Until when what is left is passed on, once nothing more comes.
    closed: Option<Instant>,
}

impl Outbox {
    /// Starts the task on a runtime.
    pub(super) fn new(sink: Arc<dyn Sink>, runtime: &Handle) -> Self {
        let name = name(&*sink);
        let (queue, changed, ended) = Default::default();
        let shared = Arc::new(Shared { name, queue, changed, ended });
        let task = Courier { sink, shared: Arc::clone(&shared), failures: 0 };
        runtime.spawn(task.run());
        Self { shared }
    }

    /// Puts an alert at the queue's end. From a full one the oldest goes.
    pub(super) fn push(&self, alert: Arc<Alert>) {
        let mut queue = self.shared.queue();
        if queue.alerts.len() >= CAPACITY {
            queue.alerts.pop_front();
            queue.lost += 1;
        }
        queue.alerts.push_back(alert);
        drop(queue);
        self.shared.changed.notify_one();
    }

    /// Takes no more. What is left is passed on until `deadline`.
    pub(super) fn close(&self, deadline: Instant) {
        self.shared.queue().closed.get_or_insert(deadline);
        self.shared.changed.notify_one();
    }

    /// Closes all, and waits until nothing is left, or it is given up. A sink that blocks its thread is not waited for: nothing
    /// can end it.
    pub(super) async fn close_all(outboxes: Vec<Self>) {
        let deadline = Instant::now() + FLUSH;
        outboxes.iter().for_each(|outbox| outbox.close(deadline));
        let ended = join_all(outboxes.iter().map(Self::ended));
        let _ = timeout_at(deadline + GRACE, ended).await;
    }

    /// Waits until nothing is left, or it is given up.
    async fn ended(&self) {
        // The sender is in `self`: this cannot fail.
        let _ = self.shared.ended.subscribe().wait_for(|ended| *ended).await;
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.close(Instant::now() + FLUSH);
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes alerts on, one after the other.
struct Courier {
    sink: Arc<dyn Sink>,
    shared: Arc<Shared>,
    /// How many attempts in a row have failed.
    failures: u32,
}

/// However the task ends, its runtime's end included.
impl Drop for Courier {
    fn drop(&mut self) {
        self.shared.ended.send_replace(true);
    }
}

impl Courier {
    async fn run(mut self) {
        while let Some(alert) = self.next().await {
            self.pass_on(alert).await;
        }
        let lost = std::mem::take(&mut self.shared.queue().lost);
        if lost > 0 {
            tracing::error!(sink = self.shared.name, lost, "alerts were given up, since the sink did not take them");
        }
    }

    /// The next alert; `None` once nothing more comes and nothing is left.
    async fn next(&self) -> Option<Arc<Alert>> {
        loop {
            let changed = self.shared.changed.notified();
            {
                let mut queue = self.shared.queue();
                if queue.closed.is_some_and(|deadline| Instant::now() >= deadline) {
                    queue.lost += queue.alerts.len() as u64;
                    return None;
                }
                match queue.alerts.pop_front() {
                    Some(alert) => return Some(alert),
                    None if queue.closed.is_some() => return None,
                    None => {}
                }
            }
            changed.await;
        }
    }

    /// Tries until the sink has taken the alert, or there is no use in it.
    async fn pass_on(&mut self, alert: Arc<Alert>) {
        loop {
            let Err(error) = self.attempt(&alert).await else {
                return self.passed();
            };
            self.failures = self.failures.saturating_add(1);
            if self.failures == 1 {
                tracing::warn!(
                    sink = self.shared.name,
                    alert = alert.title,
                    "an alert could not be passed on: {error}"
                );
            }
            let wait = match error.again {
                Again::Never => {
                    self.shared.queue().lost += 1;
                    tracing::error!(sink = self.shared.name, alert = alert.title, "the sink refuses an alert: {error}");
                    return;
                }
                Again::After(wait) => wait.min(LONGEST),
                Again::Backoff => BACKOFF.delay(self.failures, rand::random()),
            };
            if self.is_closed_within(wait).await {
                self.shared.queue().lost += 1;
                return;
            }
        }
    }

    async fn attempt(&self, alert: &Arc<Alert>) -> Result<(), SinkError> {
        let (sink, alert) = (Arc::clone(&self.sink), Arc::clone(alert));
        let sending = Guarded::new(async move { sink.send(alert).await });
        let sent = match self.until_closed(timeout(SEND, sending)).await {
            Some(Ok(sent)) => sent,
            Some(Err(_)) => return Err(SinkError::temporary("it took longer than 30s")),
            None => return Err(SinkError::permanent("the consumer has stopped meanwhile")),
        };
        sent.unwrap_or_else(|report| Err(SinkError::temporary(format!("it panicked: {}", report.message))))
    }

    /// Awaits a future, but not past the deadline at which all is given up.
    async fn until_closed<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = std::pin::pin!(future);
        loop {
            let changed = self.shared.changed.notified();
            let closed = self.shared.queue().closed;
            if let Some(deadline) = closed {
                return timeout_at(deadline, future).await.ok();
            }
            tokio::select! {
                biased;
                done = &mut future => return Some(done),
                () = changed => {}
            }
        }
    }

    /// Waits. Whether nothing more comes: then there is no time for another attempt.
    async fn is_closed_within(&self, wait: Duration) -> bool {
        let mut wait = std::pin::pin!(sleep(wait));
        loop {
            let changed = self.shared.changed.notified();
            if self.shared.queue().closed.is_some() {
                return true;
            }
            tokio::select! {
                biased;
                () = &mut wait => return false,
                () = changed => {}
            }
        }
    }

    fn passed(&mut self) {
        let lost = std::mem::take(&mut self.shared.queue().lost);
        if std::mem::take(&mut self.failures) > 0 || lost > 0 {
            tracing::warn!(
                sink = self.shared.name,
                lost,
                "the sink takes alerts again; those that were lost meanwhile are counted"
            );
        }
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
