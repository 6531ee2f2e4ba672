use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::api::Api;
use crate::broker::ErrorCode;

/// Something that goes wrong with the next requests of a kind.
///
/// ```
/// use std::time::Duration;
/// use bezoar::broker::ErrorCode;
/// use bezoar::embedded::{Api, Fault};
///
/// let refused = Fault::on(Api::Produce).topic("orders").partition(0).times(3).error(ErrorCode::MESSAGE_TOO_LARGE);
/// let slow = Fault::on(Api::Fetch).forever().delay(Duration::from_millis(50));
/// let lost_answer = Fault::on(Api::OffsetCommit).after(2).drop_after_effect();
/// # let _ = (refused, slow, lost_answer);
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
}

/// Which requests a [`Fault`] is for, until it is said what goes wrong with them.
#[derive(Debug, Clone)]
#[must_use = "say what goes wrong: error, delay, drop_before_effect or drop_after_effect"]
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

    fn build(self, kind: FaultKind) -> Fault {
        Fault { filter: self.filter, skip: self.skip, left: self.times, kind }
    }
}

/// An injected fault: tells how often it fired, and removes it. Dropping it leaves the fault where it is.
#[derive(Debug, Clone)]
pub struct Injected {
    fired: watch::Receiver<u64>,
    removed: Arc<AtomicBool>,
}

impl Injected {
    /// How many requests the fault has hit.
    pub fn fired(&self) -> u64 {
        *self.fired.borrow()
    }

    /// Waits until it has hit `times` requests; returns at once, too, where the fault is spent or the broker gone.
    pub async fn wait_fired(&self, times: u64) {
        let _ = self.fired.clone().wait_for(|fired| *fired >= times).await;
    }

    /// Ends the fault; what is held by it already stays held.
    pub fn remove(&self) {
        self.removed.store(true, Ordering::Release);
    }
}

/// The faults that wait for their requests.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    fault: Fault,
    fired: watch::Sender<u64>,
    removed: Arc<AtomicBool>,
}

/// What all faults together do to one request.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) delay: Duration,
    pub(crate) drop_before: bool,
    pub(crate) drop_after: bool,
    pub(crate) errors: Errors,
}

/// The error codes that a request is to be answered with.
#[derive(Debug, Default)]
pub(crate) struct Errors(Vec<(Filter, i16)>);

impl Faults {
    pub(crate) fn inject(&mut self, fault: Fault) -> Injected {
        let (fired, receiver) = watch::channel(0);
        let removed = Arc::new(AtomicBool::new(false));
        self.waiting.push(Waiting { fault, fired, removed: Arc::clone(&removed) });
        Injected { fired: receiver, removed }
    }

    /// Whether any fault may be for requests of this kind.
    pub(crate) fn concern(&self, api: Api) -> bool {
        self.waiting.iter().any(|waiting| waiting.fault.filter.api == api)
    }

    /// Takes what is for a request out of the faults.
    pub(crate) fn plan(&mut self, api: Api, touched: &[Touched<'_>]) -> Plan {
        let mut plan = Plan::default();
        self.waiting.retain(|waiting| !waiting.removed.load(Ordering::Acquire));
        for Waiting { fault, fired, .. } in &mut self.waiting {
            if fault.left == Some(0) || !fault.filter.matches(api, touched) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            fault.left = fault.left.map(|left| left - 1);
            match fault.kind {
                FaultKind::Error(code) => plan.errors.0.push((fault.filter.clone(), code.0)),
                FaultKind::Delay(delay) => plan.delay = plan.delay.saturating_add(delay),
                FaultKind::DropBefore => plan.drop_before = true,
                FaultKind::DropAfter => plan.drop_after = true,
            }
            fired.send_modify(|fired| *fired += 1);
        }
        self.waiting.retain(|waiting| waiting.fault.left != Some(0));
        plan
    }
}

impl Errors {
    /// The code for a partition of a topic.
    pub(crate) fn partition(&self, topic: &str, partition: i32) -> Option<i16> {
        self.find(|filter| filter.covers((topic, Some(partition))))
    }

    /// The code for a topic, where requests name no partitions.
    pub(crate) fn topic(&self, topic: &str) -> Option<i16> {
        self.find(|filter| filter.covers((topic, None)))
    }

    /// The code for the request as a whole.
    pub(crate) fn whole(&self) -> Option<i16> {
        self.find(Filter::is_open)
    }

    fn find(&self, matches: impl Fn(&Filter) -> bool) -> Option<i16> {
        self.0.iter().find(|(filter, _)| matches(filter)).map(|(_, code)| *code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(faults: &mut Faults, touched: &[Touched<'_>]) -> Option<i16> {
        let plan = faults.plan(Api::Produce, touched);
        touched.iter().find_map(|(topic, partition)| plan.errors.partition(topic, (*partition)?))
    }

    #[test]
    fn a_fault_skips_then_fires_then_is_spent() {
        let mut faults = Faults::default();
        let injected = faults.inject(Fault::on(Api::Produce).after(1).times(2).error(ErrorCode(7)));
        let fired: Vec<_> = (0..5).map(|_| codes(&mut faults, &[("orders", Some(0))])).collect();
        assert_eq!(fired, [None, Some(7), Some(7), None, None]);
        assert_eq!(injected.fired(), 2);
        assert!(!faults.concern(Api::Produce));
    }

    #[test]
    fn filters_by_api_topic_and_partition() {
        let mut faults = Faults::default();
        let injected =
            faults.inject(Fault::on(Api::Produce).topic("orders").partition(1).forever().error(ErrorCode(7)));
        assert_eq!(codes(&mut faults, &[("orders", Some(0))]), None);
        assert_eq!(codes(&mut faults, &[("refunds", Some(1))]), None);
        let plan = faults.plan(Api::Fetch, &[("orders", Some(1))]);
        assert_eq!(plan.errors.partition("orders", 1), None);
        let plan = faults.plan(Api::Produce, &[("orders", Some(0)), ("orders", Some(1))]);
        assert_eq!((plan.errors.partition("orders", 0), plan.errors.partition("orders", 1)), (None, Some(7)));
        assert_eq!((plan.errors.whole(), injected.fired()), (None, 1));
    }

    #[test]
    fn a_removed_fault_fires_no_more() {
        let mut faults = Faults::default();
        let injected = faults.inject(Fault::on(Api::Produce).forever().drop_before_effect());
        assert!(faults.plan(Api::Produce, &[]).drop_before);
        injected.remove();
        assert!(!faults.plan(Api::Produce, &[]).drop_before);
        assert_eq!(injected.fired(), 1);
    }
}
