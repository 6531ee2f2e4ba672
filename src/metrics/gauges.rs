use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::export::Export;
use super::names;
use crate::consumer::{ConsumerHandle, PartitionState, PartitionStatus};
use crate::record::TopicPartition;

/// Sets the gauges that say what partitions do now, each `interval`, until the consumer has ended. Nothing is done for them
/// where records are handled.
pub(crate) async fn run(consumer: ConsumerHandle, interval: Duration) {
    let mut gauges = Gauges { export: consumer.meter().export(), known: Known::default() };
    while let Some(partitions) = consumer.status().await {
        gauges.set(&partitions);
        tokio::time::sleep(interval).await;
    }
}

struct Gauges {
    export: Export,
    known: Known,
}

/// What was told: a gauge stays where it was until it is set again.
#[derive(Default)]
struct Known {
    topics: BTreeSet<String>,
    partitions: BTreeSet<TopicPartition>,
}

/// All states, and their names.
const STATES: [(PartitionState, &str); 7] = [
    (PartitionState::Starting, "starting"),
    (PartitionState::Running, "running"),
    (PartitionState::Paused, "paused"),
    (PartitionState::Held, "held"),
    (PartitionState::Restarting, "restarting"),
    (PartitionState::Revoking, "revoking"),
    (PartitionState::Stopped, "stopped"),
];

/// What partitions of one topic do.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    states: [usize; STATES.len()],
    in_flight: usize,
    unacknowledged: usize,
}

/// The sums of each topic.
fn sums(partitions: &[PartitionStatus]) -> BTreeMap<&str, Sums> {
    let mut topics: BTreeMap<&str, Sums> = BTreeMap::new();
    for status in partitions {
        let sums = topics.entry(status.partition.topic()).or_default();
        if let Some(state) = STATES.iter().position(|(state, _)| *state == status.state) {
            sums.states[state] += 1;
        }
        sums.in_flight += usize::from(status.in_flight);
        sums.unacknowledged += status.unacknowledged;
    }
    topics
}

impl Drop for Gauges {
    /// The consumer has ended, or was dropped: what it had may be another's now.
    fn drop(&mut self) {
        self.set(&[]);
    }
}

impl Gauges {
    fn set(&mut self, partitions: &[PartitionStatus]) {
        let sums = sums(partitions);
        self.known.topics.extend(sums.keys().map(|topic| (*topic).to_owned()));
        let nothing = Sums::default();
        for topic in &self.known.topics {
            let sums = sums.get(topic.as_str()).unwrap_or(&nothing);
            for ((_, state), count) in STATES.iter().zip(sums.states) {
                let labels = [(names::TOPIC, topic.as_str()), (names::STATE, state)];
                self.export.gauge(&names::PARTITIONS, &labels).set(count as f64);
            }
            let labels = [(names::TOPIC, topic.as_str())];
            self.export.gauge(&names::IN_FLIGHT, &labels).set(sums.in_flight as f64);
            self.export.gauge(&names::UNACKNOWLEDGED, &labels).set(sums.unacknowledged as f64);
        }
        let mut gone = std::mem::take(&mut self.known.partitions);
        for status in partitions {
            gone.remove(&status.partition);
            if let Some(lag) = status.lag {
                self.lag(&status.partition, lag);
            }
            self.known.partitions.insert(status.partition.clone());
        }
        gone.iter().for_each(|partition| self.lag(partition, 0));
    }

    fn lag(&self, partition: &TopicPartition, lag: u64) {
        let number = partition.partition().to_string();
        let labels = [(names::TOPIC, partition.topic()), (names::PARTITION, number.as_str())];
        self.export.gauge(&names::LAG, &labels).set(lag as f64);
    }
}
