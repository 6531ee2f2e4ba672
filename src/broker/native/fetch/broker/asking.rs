use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::messages::FetchRequest;
use tokio::time::Instant;

use super::{BrokerLoop, Flight, Held, Landed};
use crate::broker::native::call::Call;
use crate::broker::native::cluster::Purpose;
use crate::broker::native::fetch::epochs;
use crate::broker::native::fetch::message::{Report, Then};
use crate::broker::native::fetch::reading::Reading;
use crate::broker::native::fetch::request::{FETCHED_EPOCH_SINCE, TOPIC_IDS_SINCE, request};
use crate::broker::native::fetch::session::{Key, Wanted};
use crate::record::TopicPartition;

/// After so long without an answer (the feed was full, say), a fetch by name looks first whether the topic is still the same.
/// While fetches come and go a topic that is deleted shows in their errors; during a pause nothing would.
const LOOK_AFTER: Duration = Duration::from_millis(500);

impl BrokerLoop {
    /// Sets out for what is to be done next; `None` where nothing can be read for now.
    pub(super) fn next_step(&mut self) -> Option<Flight> {
        self.sweep();
        let mut left_out = Vec::new();
        let mut wanted = Vec::new();
        for held in self.readings.values() {
            match held.reading.credit_to_ask(held.undecoded.map_or(0, |undecoded| undecoded.bytes)) {
                None | Some(0) => left_out.push(held.reading.serial),
                Some(credit) => wanted.push((held, credit)),
            }
        }
        if wanted.is_empty() {
            return None;
        }
        let Some(connection) = self.connection.clone().filter(|connection| !connection.is_closed()) else {
            return Some(self.connect());
        };
        let by_id = wanted.iter().all(|(held, _)| held.reading.topic_id.is_some());
        let call = self.call(self.cluster.settings.request_timeout);
        let version = match connection.version::<FetchRequest>(&call) {
            Ok(version) if by_id => version,
            Ok(version) => version.min(TOPIC_IDS_SINCE - 1),
            Err(error) => {
                self.give_all_back(&error);
                return None;
            }
        };
        let by_id = version >= TOPIC_IDS_SINCE;
        if !by_id {
            let doubtful: Vec<TopicPartition> =
                wanted.iter().filter(|(held, _)| held.is_doubtful()).map(partition).collect();
            if !doubtful.is_empty() {
                let then = Then::Again { due: Instant::now(), stale: true };
                doubtful.iter().for_each(|partition| self.give_back(partition, then));
                return self.next_step();
            }
        }
        if version < FETCHED_EPOCH_SINCE {
            let unvalidated = wanted.iter().filter(|(held, _)| held.reading.unvalidated);
            let unvalidated: Vec<_> = unvalidated.map(|(held, _)| &held.reading).collect();
            if let Some(request) = epochs::request(&unvalidated) {
                let asking = async move { Landed::Validated(epochs::ask(&connection, &call, request).await) };
                return Some(Box::pin(asking));
            }
        }
        let alone = Self::only_suspect(&mut self.suspects, &mut wanted);
        wanted.sort_unstable_by_key(|(held, _)| (held.served, &held.reading.partition));
        let newcomers = wanted.iter().any(|(held, _)| !held.answered);
        let wanted: Vec<(Key, Wanted)> =
            wanted.into_iter().map(|(held, credit)| self.wanted(&held.reading, credit, by_id)).collect();
        for ((partition, _), wanted) in &wanted {
            if let Some(held) = self.readings.get_mut(partition) {
                held.asked = Some(wanted.offset);
            }
        }
        self.tell_naming(!by_id);
        let wait = if alone { Duration::ZERO } else { self.wait.next(newcomers, left_out) };
        let plan = self.session.plan(&wanted, by_id);
        let request = request(plan, &self.cluster.settings, wait, version);
        let call = self.call(self.cluster.settings.request_timeout.saturating_add(wait));
        Some(Box::pin(async move { Landed::Fetched(connection.call_version(&call, version, &request).await) }))
    }

    fn wanted(&self, reading: &Reading, credit: usize, by_id: bool) -> (Key, Wanted) {
        let most = usize::try_from(self.cluster.settings.fetch_max_bytes).unwrap_or(1);
        let wanted = Wanted {
            offset: reading.position.offset,
            max_bytes: i32::try_from(reading.worth(credit).min(most)).unwrap_or(i32::MAX).max(1),
            leader_epoch: reading.leader_epoch,
            fetched_epoch: reading.position.epoch.unwrap_or(-1),
        };
        ((reading.partition.clone(), reading.topic_id.filter(|_| by_id)), wanted)
    }

    fn connect(&self) -> Flight {
        let (broker, cluster, purpose) = (self.broker, Arc::clone(&self.cluster), Purpose::Fetch(self.lane.number()));
        let call = self.call(cluster.settings.request_timeout);
        Box::pin(async move { Landed::Connected(cluster.broker_for(broker, purpose, &call).await) })
    }

    pub(super) fn call(&self, within: Duration) -> Call {
        let doing = match self.readings.values().next() {
            Some(held) if self.readings.len() == 1 => held.reading.doing(),
            _ => format!("reading {} partitions from broker {}", self.readings.len(), self.broker),
        };
        Call::new(doing, within)
    }

    fn tell_naming(&mut self, by_name: bool) {
        if std::mem::replace(&mut self.by_name, by_name) != by_name {
            let _ = self.reports.send(Report::ByName { broker: self.broker, by_name });
        }
    }
}

impl Held {
    /// Whether nothing has told for a while that the topic of that name is still the same.
    fn is_doubtful(&self) -> bool {
        // One that has just come was looked at by the manager; it may have waited for its turn since.
        self.answered && self.reading.topic_id.is_some() && self.heard.elapsed() > LOOK_AFTER
    }
}

fn partition((held, _): &(&Held, usize)) -> TopicPartition {
    held.reading.partition.clone()
}
