use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::isolation::guard::guarded;

/// How long deliveries that are not ready at their first poll are waited for.
///
/// One timer serves all deliveries of a partition actor, one after the other. It stays armed when a delivery ends, and is
/// moved only when it is too late for the present one or has fired: arming it for each delivery would cost more than
/// the rest of the delivery. So it may fire early, never late, and the clock is what counts.
///
/// It belongs to the control plane's runtime, since a runtime that has a timer reads the clock once more whenever it
/// waits, and a lane waits often.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Option<Duration>,
    control: Handle,
    alarm: Option<Pin<Box<Sleep>>>,
    /// Whom the alarm wakes.
    waker: Waker,
    /// When the clock was read last.
    looked: Instant,
    /// Whether the alarm serves as the clock: it fires within [`PRECISION`].
    soon: bool,
    /// Whether the present delivery had to be waited for.
    waited: bool,
    /// Whether it is to be known since when, and that.
    timed: bool,
    waiting: Option<Instant>,
    /// When the time of the present delivery is up; `None` is never.
    deadline: Option<Instant>,
}

/// Deliveries that begin to wait so soon after each other don't read the clock each: that would cost a good part of what
/// they do.
const DENSE: Duration = Duration::from_micros(20);
/// Such a delivery's deadline may be met so much later.
const PRECISION: Duration = Duration::from_millis(5);

impl Patience {
    /// Each delivery may wait for `limit`, counted from its first poll; `None` is no limit.
    pub(crate) fn new(limit: Option<Duration>, control: Handle) -> Self {
        Self {
            limit,
            control,
            alarm: None,
            waker: Waker::noop().clone(),
            looked: Instant::now(),
            soon: false,
            waited: false,
            timed: false,
            waiting: None,
            deadline: None,
        }
    }

    /// Notes since when deliveries wait, at the price of a look at the clock for each that does.
    pub(crate) fn timed(self, timed: bool) -> Self {
        Self { timed, ..self }
    }

    pub(crate) fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// The next delivery begins.
    pub(crate) fn begin(&mut self) {
        self.waited = false;
    }

    /// Whether the present delivery, or the last, had to be waited for.
    pub(crate) fn has_waited(&self) -> bool {
        self.waited
    }

    /// When that was found, where it was to be noted.
    pub(crate) fn waiting(&self) -> Option<Instant> {
        self.waiting
    }

    /// Called after each poll that leaves the delivery pending; ready when its time is up.
    ///
    /// `due` is called at the first poll, or within [`PRECISION`] of it, and by the time that it returned: something else is
    /// then to be done while the delivery waits.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, mut due: impl FnMut(Instant) -> Option<Instant>) -> Poll<()> {
        if (self.waited || self.soon)
            && let Some(alarm) = self.armed(cx)
        {
            if !self.waited {
                // It is that late at most.
                self.deadline = self.limit.map(|limit| alarm.deadline() + limit);
                self.waited = true;
                self.waiting = self.timed.then(Instant::now);
            }
            return Poll::Pending;
        }
        loop {
            let now = Instant::now();
            self.soon = now.duration_since(std::mem::replace(&mut self.looked, now)) < DENSE;
            if !self.waited {
                self.waited = true;
                self.waiting = self.timed.then_some(now);
                self.deadline = self.limit.map(|limit| now + limit);
            }
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                return Poll::Ready(());
            }
            let clock = self.soon.then(|| now + PRECISION);
            let Some(wake) = due(now).into_iter().chain(self.deadline).chain(clock).min() else {
                return Poll::Pending;
            };
            if self.arm(cx, wake).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// The alarm, if it will wake this task.
    fn armed(&self, cx: &Context<'_>) -> Option<&Sleep> {
        let alarm = self.alarm.as_ref().filter(|alarm| !alarm.is_elapsed())?;
        self.waker.will_wake(cx.waker()).then_some(alarm)
    }

    /// Has the task woken at `wake` or before. Ready if it is that late already.
    fn arm(&mut self, cx: &mut Context<'_>, wake: Instant) -> Poll<()> {
        if self.armed(cx).is_some_and(|alarm| alarm.deadline() <= wake) {
            return Poll::Pending;
        }
        let alarm = self.alarm.get_or_insert_with(|| {
            let _control = self.control.enter();
            Box::pin(sleep_until(wake))
        });
        if alarm.is_elapsed() || alarm.deadline() > wake {
            alarm.as_mut().reset(wake);
        }
        self.waker.clone_from(cx.waker());
        // A handler that uses the task's budget up each time must not starve its own deadline.
        let polled = guarded(|| pin!(tokio::task::unconstrained(alarm.as_mut())).poll(cx));
        // Timers of a runtime that is shut down panic: the consumer was dropped, and the lanes are about to end.
        polled.unwrap_or(Poll::Pending)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};

    use tokio::runtime::Builder;

    use super::*;
    use crate::isolation::guard::install_hook;

    /// Waits for a future as a delivery is waited for. How long it took, and whether its time was up.
    async fn waited(patience: &mut Patience, future: impl Future<Output = ()>) -> (Duration, bool) {
        let began = Instant::now();
        let mut future = pin!(future);
        patience.begin();
        let over = poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(false),
            Poll::Pending => patience.poll(cx, |_| None).map(|()| true),
        });
        let over = over.await;
        (began.elapsed(), over)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn each_delivery_has_its_full_time_and_no_more() {
        let mut patience = Patience::new(Some(30 * SECOND), Handle::current());
        // The alarm of the first is early for all that follow.
        for seconds in [1, 20, 29] {
            let wait = tokio::time::sleep(seconds * SECOND);
            let (took, over) = waited(&mut patience, wait).await;
            assert_eq!((took.as_secs(), over), (seconds.into(), false));
        }
        for _ in 0..3 {
            let (took, over) = waited(&mut patience, pending()).await;
            assert!(over && took >= 30 * SECOND && took < 31 * SECOND, "{took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_of_dense_deliveries_is_precise_enough() {
        let mut patience = Patience::new(Some(SECOND), Handle::current());
        for _ in 0..3 {
            // So close that the alarm serves as the clock.
            for _ in 0..10 {
                assert_eq!(waited(&mut patience, tokio::task::yield_now()).await, (Duration::ZERO, false));
            }
            let (took, over) = waited(&mut patience, pending()).await;
            assert!(over && took >= SECOND && took <= SECOND + 2 * PRECISION, "{took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_nothing_is_cut_short() {
        let (took, over) =
            waited(&mut Patience::new(None, Handle::current()), tokio::time::sleep(100_000 * SECOND)).await;
        assert_eq!((took.as_secs(), over), (100_000, false));
    }

    #[tokio::test]
    async fn a_future_that_uses_the_tasks_budget_up_does_not_starve_the_alarm() {
        let busy = async {
            loop {
                tokio::task::coop::consume_budget().await;
            }
        };
        assert!(waited(&mut Patience::new(Some(Duration::from_millis(20)), Handle::current()), busy).await.1);
    }

    #[test]
    fn the_end_of_the_control_plane_is_no_ones_fault() {
        install_hook(false);
        let control = Builder::new_current_thread().enable_all().build().unwrap();
        let lane = Builder::new_current_thread().enable_all().build().unwrap();
        let mut patience = Patience::new(Some(SECOND), control.handle().clone());
        lane.block_on(async {
            let mut poll = async || poll_fn(|cx| Poll::Ready(patience.poll(cx, |_| None))).await;
            assert!(poll().await.is_pending());
            control.shutdown_background();
            assert!(poll().await.is_pending());
        });
    }

    #[tokio::test(start_paused = true)]
    async fn what_else_is_due_is_done_while_the_delivery_waits() {
        let mut patience = Patience::new(Some(30 * SECOND), Handle::current());
        tokio::time::advance(SECOND).await;
        let began = Instant::now();
        let mut asked = Vec::new();
        poll_fn(|cx| {
            patience.poll(cx, |now| {
                asked.push((now - began).as_secs());
                (asked.len() < 3).then(|| now + 5 * SECOND)
            })
        })
        .await;
        assert_eq!(asked, [0, 5, 10]);
        assert_eq!((Instant::now() - began).as_secs(), 30);
    }
}
