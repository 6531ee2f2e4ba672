use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::super::api::Api;
use super::{Fault, FaultKind, Filter, Spoil, Spoils, Touched};

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
        self.fire(
            |fault| !fault.kind.is_about_answers() && fault.filter.matches(api, touched),
            |fault| match fault.kind {
                FaultKind::Error(code) => plan.errors.0.push((fault.filter.clone(), code.0)),
                FaultKind::Delay(delay) => plan.delay = plan.delay.saturating_add(delay),
                FaultKind::DropBefore => plan.drop_before = true,
                FaultKind::DropAfter => plan.drop_after = true,
                FaultKind::Throttle(_) | FaultKind::Spoil(_) => {}
            },
        );
        plan
    }

    /// Takes what is for the answer to a request out of the faults; `fits` says whether a kind of damage can be done
    /// to it.
    pub(crate) fn spoils(&mut self, api: Api, touched: &[Touched<'_>], fits: impl Fn(Spoil) -> bool) -> Spoils {
        let mut spoils = Spoils::default();
        self.fire(
            |fault| {
                let fits = match fault.kind {
                    FaultKind::Throttle(_) => true,
                    FaultKind::Spoil(spoil) => fits(spoil),
                    _ => false,
                };
                fits && fault.filter.matches(api, touched)
            },
            |fault| match fault.kind {
                FaultKind::Throttle(time) => spoils.throttle = Some(time),
                FaultKind::Spoil(spoil) => spoils.damages.push(spoil),
                _ => {}
            },
        );
        spoils
    }

    /// Lets the faults that are concerned take effect, as often as they are to.
    fn fire(&mut self, concerned: impl Fn(&Fault) -> bool, mut effect: impl FnMut(&Fault)) {
        self.waiting.retain(|waiting| !waiting.removed.load(Ordering::Acquire));
        for Waiting { fault, fired, .. } in &mut self.waiting {
            if fault.left == Some(0) || !concerned(fault) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            fault.left = fault.left.map(|left| left - 1);
            effect(fault);
            fired.send_modify(|fired| *fired += 1);
        }
        self.waiting.retain(|waiting| waiting.fault.left != Some(0));
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
    use crate::broker::ErrorCode;

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

    #[test]
    fn damage_waits_for_an_answer_that_it_can_be_done_to() {
        let mut faults = Faults::default();
        let injected = faults.inject(Fault::on(Api::Fetch).wrong_crc());
        assert!(!faults.plan(Api::Fetch, &[]).drop_before);
        assert!(faults.spoils(Api::Fetch, &[], |_| false).damages.is_empty());
        assert_eq!(injected.fired(), 0);
        assert_eq!(faults.spoils(Api::Fetch, &[], |_| true).damages, [Spoil::WrongCrc]);
        assert_eq!((injected.fired(), faults.concern(Api::Fetch)), (1, false));
    }
}
