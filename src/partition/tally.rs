use std::sync::Arc;

use tokio::time::Instant;

use crate::metrics::TopicMeter;

/// What an incarnation has handled and how long its deliveries took, on the way to the consumer's counts.
///
/// A count is shared between lanes and a look at the clock costs half a fast record, so neither is done for each. Handled
/// records are added up here, and counted when the clock is read anyway, when the partition waits, and before they are
/// reported as settled. How long a delivery took is measured where it had to be waited for; those that were ready at once
/// share what passed between two looks at the clock, each taking the mean.
pub(super) struct Tally {
    topic: Arc<TopicMeter>,
    /// Handled and not counted yet.
    handled: u64,
    /// Deliveries since `since` that were ready at once.
    ready: u32,
    /// When the present run of deliveries began; `None` where nobody wants to know how long they take.
    since: Option<Instant>,
}

impl Tally {
    pub(super) fn new(topic: Arc<TopicMeter>) -> Self {
        let since = topic.durations.is_some().then(Instant::now);
        Self { topic, handled: 0, ready: 0, since }
    }

    /// Whether deliveries are to be timed.
    pub(super) fn is_timed(&self) -> bool {
        self.since.is_some()
    }

    /// A delivery succeeded.
    pub(super) fn handled(&mut self) {
        self.handled += 1;
    }

    /// A delivery ended at its first poll.
    pub(super) fn was_ready(&mut self) {
        self.ready += 1;
    }

    /// A delivery ended now that was first found to have to wait at `waiting`.
    pub(super) fn has_waited(&mut self, waiting: Option<Instant>) {
        let (Some(since), Some(waiting), Some(durations)) = (self.since, waiting, &self.topic.durations) else {
            return;
        };
        let now = Instant::now();
        // What passed before is shared with those before it.
        let share = waiting.saturating_duration_since(since) / (self.ready + 1);
        if self.ready > 0 {
            durations.record_many(share, self.ready as usize);
        }
        durations.record(now.duration_since(waiting) + share);
        (self.ready, self.since) = (0, Some(now));
    }

    /// Counts what was handled.
    pub(super) fn count(&mut self) {
        if self.handled > 0 {
            self.topic.handled.add(std::mem::take(&mut self.handled));
        }
    }

    /// The clock was read.
    pub(super) fn look(&mut self, now: Instant) {
        self.count();
        let (Some(since), Some(durations)) = (self.since, &self.topic.durations) else { return };
        if self.ready > 0 {
            durations.record_many(now.duration_since(since) / self.ready, self.ready as usize);
        }
        (self.ready, self.since) = (0, Some(now));
    }

    /// The partition stops to deliver for now.
    pub(super) fn rest(&mut self) {
        match self.since {
            Some(_) => self.look(Instant::now()),
            None => self.count(),
        }
    }

    /// The partition delivers again, and had something else to do until now.
    pub(super) fn go_on(&mut self) {
        if self.is_timed() {
            (self.ready, self.since) = (0, Some(Instant::now()));
        }
    }
}

impl Drop for Tally {
    /// However the incarnation ends, what it has handled is counted.
    fn drop(&mut self) {
        self.count();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use ::metrics::{Histogram, HistogramFn};

    use super::*;

    /// Seconds, and how many times.
    #[derive(Default)]
    struct Recorded(Mutex<Vec<(f64, usize)>>);

    impl HistogramFn for Recorded {
        fn record(&self, seconds: f64) {
            self.record_many(seconds, 1);
        }

        fn record_many(&self, seconds: f64, count: usize) {
            self.0.lock().unwrap().push((seconds, count));
        }
    }

    fn timed() -> (Tally, Arc<Recorded>) {
        let recorded = Arc::new(Recorded::default());
        let topic = TopicMeter::timed("orders", Some(Histogram::from_arc(Arc::clone(&recorded))));
        (Tally::new(Arc::new(topic)), recorded)
    }

    async fn pass(millis: u64) {
        tokio::time::advance(Duration::from_millis(millis)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn deliveries_that_are_ready_share_the_time_between_two_looks() {
        let (mut tally, recorded) = timed();
        tally.look(Instant::now());
        (0..4).for_each(|_| tally.was_ready());
        pass(8).await;
        tally.look(Instant::now());
        // What is not delivering counts for nobody.
        pass(1_000).await;
        tally.go_on();
        tally.was_ready();
        pass(3).await;
        tally.rest();
        assert_eq!(*recorded.0.lock().unwrap(), [(0.002, 4), (0.003, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_delivery_that_waits_is_measured_by_itself() {
        let (mut tally, recorded) = timed();
        tally.was_ready();
        pass(2).await;
        let waiting = Some(Instant::now());
        pass(10).await;
        tally.has_waited(waiting);
        let waiting = Some(Instant::now());
        pass(5).await;
        tally.has_waited(waiting);
        assert_eq!(*recorded.0.lock().unwrap(), [(0.001, 1), (0.011, 1), (0.005, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_handled_is_counted_once_however_the_incarnation_ends() {
        let topic = Arc::new(TopicMeter::timed("orders", None));
        let mut tally = Tally::new(Arc::clone(&topic));
        assert!(!tally.is_timed());
        tally.handled();
        tally.rest();
        tally.handled();
        tally.handled();
        assert_eq!(topic.counts().handled, 1);
        drop(tally);
        assert_eq!(topic.counts().handled, 3);
    }
}
