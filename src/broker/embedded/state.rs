use std::collections::HashSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::BrokerId;
use kafka_protocol::protocol::StrBytes;
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use uuid::Uuid;

use super::api::Api;
use super::configs::Configs;
use super::groups::{GroupSettings, Groups};
use super::log::Log;
use super::sessions::Sessions;
use super::topics::{Topic, Topics};
use super::transactions::Transactions;

/// The node id of the one broker.
pub(crate) const NODE: BrokerId = BrokerId(1);

/// The most partitions that one request may create, as in Kafka.
pub(crate) const MAX_NEW_PARTITIONS: i32 = 10_000;

/// What the broker is told when it is built.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Where clients are told to connect.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) default_partitions: i32,
    pub(crate) auto_create_topics: bool,
    /// The most fetch sessions kept at a time.
    pub(crate) fetch_sessions: usize,
    pub(crate) groups: GroupSettings,
    /// What is not served.
    pub(crate) absent: Vec<Api>,
}

/// All that the broker holds, apart from requests in flight.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) cluster_id: StrBytes,
    pub(crate) topics: Topics,
    pub(crate) groups: Groups,
    pub(crate) sessions: Sessions,
    pub(crate) transactions: Transactions,
    next_producer_id: i64,
    random: StdRng,
    /// Partitions that changed since parked fetches were last looked at.
    changed: HashSet<(Uuid, i32)>,
}

/// Why something was refused: an error of the protocol and a text beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) error: ResponseError,
    pub(crate) message: String,
}

impl Refused {
    pub(crate) fn new(error: ResponseError, message: impl Into<String>) -> Self {
        Self { error, message: message.into() }
    }
}

/// A topic to be created.
#[derive(Debug)]
pub(crate) struct Creation {
    pub(crate) name: String,
    /// -1 is the broker's default.
    pub(crate) partitions: i32,
    /// -1 is the broker's default.
    pub(crate) replication: i16,
    pub(crate) configs: Vec<(String, String)>,
}

impl State {
    /// An empty broker. `seed` decides the ids that it gives to the cluster and to topics.
    pub(crate) fn new(settings: Settings, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let cluster_id = StrBytes::from_string(random_uuid(&mut random).simple().to_string());
        Self {
            sessions: Sessions::new(settings.fetch_sessions),
            groups: Groups::new(settings.groups.clone()),
            settings,
            cluster_id,
            topics: Topics::default(),
            transactions: Transactions::default(),
            next_producer_id: 1_000,
            random,
            changed: HashSet::new(),
        }
    }

    /// The host that clients are told to connect to.
    pub(crate) fn host(&self) -> StrBytes {
        StrBytes::from_string(self.settings.host.clone())
    }

    /// The port that clients are told to connect to.
    pub(crate) fn port(&self) -> i32 {
        i32::from(self.settings.port)
    }

    /// A producer id that nobody has.
    pub(crate) fn new_producer_id(&mut self) -> i64 {
        self.next_producer_id += 1;
        self.next_producer_id - 1
    }

    /// An id that nobody has.
    pub(crate) fn new_uuid(&mut self) -> Uuid {
        random_uuid(&mut self.random)
    }

    /// Checks a topic that is to be created and builds it, without adding it.
    pub(crate) fn build_topic(&mut self, creation: Creation) -> Result<Topic, Refused> {
        let Creation { name, partitions, replication, configs } = creation;
        self.topics.check_new_name(&name)?;
        let partitions = if partitions == -1 { self.settings.default_partitions } else { partitions };
        if partitions < 1 {
            let message = "Number of partitions was set to an invalid non-positive value.";
            return Err(Refused::new(ResponseError::InvalidPartitions, message));
        }
        if partitions > MAX_NEW_PARTITIONS {
            let message = format!("More than {MAX_NEW_PARTITIONS} partitions in one request.");
            return Err(Refused::new(ResponseError::PolicyViolation, message));
        }
        if !matches!(replication, -1 | 1) {
            let message = format!("Replication factor {replication} cannot be reached: there is one broker.");
            return Err(Refused::new(ResponseError::InvalidReplicationFactor, message));
        }
        let configs = Configs::new(configs)?;
        let id = self.new_uuid();
        let partitions = (0..partitions).map(|_| Log::default()).collect();
        Ok(Topic { name: name.into(), id, configs, partitions })
    }

    /// Deletes a topic with its records and the offsets committed for it; returns its id.
    pub(crate) fn delete_topic(&mut self, name: &str) -> Option<Uuid> {
        let topic = self.topics.remove(name)?;
        self.groups.forget_topic(name);
        for partition in 0..topic.partitions.len() {
            self.changed.insert((topic.id, partition as i32));
        }
        Some(topic.id)
    }

    /// Notes that there is something new for fetches that wait on a partition.
    pub(crate) fn touch(&mut self, topic: Uuid, partition: i32) {
        self.changed.insert((topic, partition));
    }

    /// The partitions that changed since the last call.
    pub(crate) fn take_changed(&mut self) -> HashSet<(Uuid, i32)> {
        std::mem::take(&mut self.changed)
    }
}

fn random_uuid(random: &mut StdRng) -> Uuid {
    let mut bytes = [0; 16];
    random.fill_bytes(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}
