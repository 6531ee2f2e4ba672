use std::net::SocketAddr;

use tokio::io::DuplexStream;
use tokio::net::TcpListener;
use uuid::Uuid;

use super::api::Api;
use super::builder::BrokerBuilder;
use super::error::EmbeddedError;
use super::fault::{Fault, Injected};
use super::server::Server;
use super::state::{Creation, Refused};
use crate::broker::{ErrorCode, NewTopic};
use kafka_protocol::ResponseError;

/// A running embedded broker; dropping it stops it, and its records are gone with it.
///
/// It lives on the runtime that it was started on, and ends with that at the latest.
///
/// Beside serving clients it lets tests look behind the protocol: at committed offsets, at raw records, at how many
/// requests came. These methods never wait.
#[derive(Debug)]
pub struct Broker {
    pub(super) server: Server,
    address: SocketAddr,
}

impl Broker {
    /// Starts a broker on a free loopback port, with the defaults of the [builder](Self::builder).
    ///
    /// # Errors
    /// [`EmbeddedError::Bind`] where no loopback port can be listened on.
    pub async fn start() -> Result<Self, EmbeddedError> {
        Self::builder().start().await
    }

    /// Starts to configure a broker.
    pub fn builder() -> BrokerBuilder {
        BrokerBuilder::new()
    }

    pub(super) fn new(server: Server, address: SocketAddr) -> Self {
        Self { server, address }
    }

    /// The address for `bootstrap.servers`: `host:port`.
    pub fn bootstrap(&self) -> String {
        self.server.with(|core, _| {
            let settings = &core.state.settings;
            if settings.host.contains(':') {
                format!("[{}]:{}", settings.host, settings.port)
            } else {
                format!("{}:{}", settings.host, settings.port)
            }
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens a connection through an in-memory pipe, for tests in paused time. What comes of it is the byte stream
    /// that a TCP connection would be.
    pub fn connect(&self) -> DuplexStream {
        self.server.connect()
    }

    /// Closes all connections, as a broker that restarts does; the state stays, and new connections are taken.
    pub fn close_connections(&self) {
        self.server.close_connections();
    }

    /// Goes down as a broker does that is stopped: connections are closed and new ones refused. Records, topics and
    /// groups stay for [`come_back`](Self::come_back), fetch sessions don't. Returns once it is down.
    pub async fn go_down(&self) {
        self.server.with(|core, _| core.state.sessions.clear());
        self.server.go_down().await;
    }

    /// Listens again, at the same address, after [`go_down`](Self::go_down).
    ///
    /// # Errors
    /// [`EmbeddedError::Bind`] where the port was taken by another meanwhile, or the broker never went down.
    pub async fn come_back(&self) -> Result<(), EmbeddedError> {
        let bind = |source| EmbeddedError::Bind { address: self.address.to_string(), source };
        self.server.come_back(TcpListener::bind(self.address).await.map_err(bind)?);
        Ok(())
    }

    /// Stops the broker and waits until its connections are closed and its port is free.
    pub async fn shutdown(self) {
        self.server.stop().await;
    }

    /// Injects a fault.
    pub fn inject(&self, fault: Fault) -> Injected {
        self.server.with(|core, _| core.faults.inject(fault))
    }

    /// How many requests of a kind have arrived so far, those that faults hit included.
    pub fn requests(&self, api: Api) -> u64 {
        self.server.with(|core, _| core.count(api))
    }

    /// Creates a topic with the broker's default configuration and returns its id.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where the topic exists, or the name or the number is not valid.
    pub fn create_topic(&self, name: &str, partitions: i32) -> Result<Uuid, EmbeddedError> {
        self.create(NewTopic::new(name, partitions))
    }

    /// Creates a topic and returns its id.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where the topic exists, or a setting is not valid.
    pub fn create(&self, topic: NewTopic) -> Result<Uuid, EmbeddedError> {
        let NewTopic { name, partitions, replication, configs } = topic;
        let doing = format!("creating topic {name}");
        self.server.with(|core, _| {
            let creation = Creation { name, partitions, replication, configs };
            let topic = core.state.build_topic(creation).map_err(|refused| refuse(doing, refused))?;
            let id = topic.id;
            core.state.topics.insert(topic);
            Ok(id)
        })
    }

    /// Deletes a topic, its records and the offsets committed for it.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such topic.
    pub fn delete_topic(&self, name: &str) -> Result<(), EmbeddedError> {
        let missing = || refuse(format!("deleting topic {name}"), unknown());
        self.server.with(|core, _| core.state.delete_topic(name).map(|_| ()).ok_or_else(missing))
    }

    /// Deletes a topic and creates it anew with the same partitions and configuration, at once: it gets a new id and
    /// its offsets start at 0 again. Returns the new id.
    ///
    /// # Errors
    /// [`EmbeddedError::Refused`] where there is no such topic.
    pub fn recreate_topic(&self, name: &str) -> Result<Uuid, EmbeddedError> {
        let doing = || format!("recreating topic {name}");
        self.server.with(|core, _| {
            let old = core.state.topics.get(name).ok_or_else(|| refuse(doing(), unknown()))?;
            let (configs, partitions) = (old.configs.clone(), old.partitions.len() as i32);
            core.state.delete_topic(name);
            let creation = Creation { name: name.to_owned(), partitions, replication: -1, configs: Vec::new() };
            let mut topic = core.state.build_topic(creation).map_err(|refused| refuse(doing(), refused))?;
            topic.configs = configs;
            let id = topic.id;
            core.state.topics.insert(topic);
            Ok(id)
        })
    }

    /// The names of all topics, in order.
    pub fn topics(&self) -> Vec<String> {
        self.server.with(|core, _| core.state.topics.iter().map(|topic| topic.name.to_string()).collect())
    }

    /// The id of a topic.
    pub fn topic_id(&self, name: &str) -> Option<Uuid> {
        self.server.with(|core, _| core.state.topics.get(name).map(|topic| topic.id))
    }

    /// The first offset that can be read from a partition.
    pub fn start_offset(&self, topic: &str, partition: i32) -> Option<i64> {
        self.server.with(|core, _| Some(core.state.topics.get(topic)?.log(partition)?.start()))
    }

    /// The offset that the next record of a partition will get.
    pub fn end_offset(&self, topic: &str, partition: i32) -> Option<i64> {
        self.server.with(|core, _| Some(core.state.topics.get(topic)?.log(partition)?.end()))
    }

    /// The names of all groups that have members or committed offsets, or had members before, in order.
    pub fn groups(&self) -> Vec<String> {
        self.server.with(|core, _| core.state.groups.iter().map(|(id, _)| id.to_owned()).collect())
    }

    /// The offset that a group has committed for a partition.
    pub fn committed(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        self.server.with(|core, _| Some(core.state.groups.get(group)?.offsets.get(topic, partition)?.offset))
    }

    /// The metadata text beside the offset that a group has committed for a partition.
    pub fn committed_metadata(&self, group: &str, topic: &str, partition: i32) -> Option<String> {
        self.server.with(|core, _| Some(core.state.groups.get(group)?.offsets.get(topic, partition)?.metadata.clone()))
    }
}

pub(super) fn unknown() -> Refused {
    Refused::new(ResponseError::UnknownTopicOrPartition, "there is no such topic or partition")
}

pub(super) fn refuse(doing: String, refused: Refused) -> EmbeddedError {
    EmbeddedError::Refused { doing, code: ErrorCode(refused.error.code()), message: refused.message }
}
