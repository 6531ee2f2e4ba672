use super::builder::ConsumerBuilder;
use super::membership::Assignment;
use super::resolved::Resolved;
use super::subscription::Subscribed;
use crate::broker::Ports;
use crate::event::Events;
use crate::isolation::Planes;
use crate::monitor::{MonitorActor, MonitorSettings, Plan};

impl ConsumerBuilder {
    /// What the monitor of dead letters watches for, and whom it tells. Default [`MonitorSettings::new`]: it tells the log;
    /// [`MonitorSettings::off`] for none.
    pub fn monitor(mut self, settings: MonitorSettings) -> Self {
        self.settings.monitor = settings;
        self
    }
}

/// The monitor of a consumer, unless it is off.
pub(super) fn monitor(
    settings: &Resolved,
    topics: &[Subscribed],
    ports: &Ports,
    events: &Events,
    planes: &Planes,
) -> Option<MonitorActor> {
    if !settings.monitor.enabled {
        return None;
    }
    let names = || topics.iter().filter_map(Subscribed::name).map(str::to_owned).collect();
    let by_hand = (settings.assignment == Assignment::Manual).then(names);
    Some(MonitorActor {
        settings: settings.monitor.clone(),
        ports: ports.clone(),
        events: events.clone(),
        group: settings.group.clone(),
        consumer_id: settings.consumer_id.clone(),
        plan: Plan::new(&settings.policies, &settings.dead_letter_topics, by_hand),
        dead_letter_topics: settings.dead_letter_topics.clone(),
        runtime: planes.shared().clone(),
    })
}
