use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpListener;

use super::api::Api;
use super::broker::Broker;
use super::core::Core;
use super::error::EmbeddedError;
use super::groups::GroupSettings;
use super::server::Server;
use super::state::{Settings, State};

/// How an embedded broker is to be; made by [`Broker::builder`].
#[derive(Debug, Clone)]
#[must_use = "nothing listens before start() is awaited"]
pub struct BrokerBuilder {
    address: SocketAddr,
    advertised_host: Option<String>,
    default_partitions: i32,
    auto_create_topics: bool,
    max_request_bytes: usize,
    fetch_sessions: usize,
    groups: GroupSettings,
    absent: Vec<Api>,
}

impl BrokerBuilder {
    pub(super) fn new() -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            advertised_host: None,
            default_partitions: 1,
            auto_create_topics: false,
            max_request_bytes: 100 << 20,
            fetch_sessions: 1_000,
            groups: GroupSettings::default(),
            absent: Vec::new(),
        }
    }

    /// The port to listen on. Default 0: any that is free.
    pub fn port(mut self, port: u16) -> Self {
        self.address.set_port(port);
        self
    }

    /// The address to listen on, port included. Default `127.0.0.1:0`. There is no access control: whoever reaches
    /// the address can read and write.
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// The host that clients are told to connect to. Default: the address listened on, `127.0.0.1` where that is
    /// all addresses.
    pub fn advertised_host(mut self, host: impl Into<String>) -> Self {
        self.advertised_host = Some(host.into());
        self
    }

    /// The partitions of topics that are created without a number. Default 1.
    pub fn default_partitions(mut self, partitions: i32) -> Self {
        self.default_partitions = partitions;
        self
    }

    /// Whether asking for a topic creates it, where the client allows that. Default false.
    pub fn auto_create_topics(mut self, create: bool) -> Self {
        self.auto_create_topics = create;
        self
    }

    /// The largest request taken, in bytes; a connection that announces a larger one is closed. Default 100 MiB, as
    /// in Kafka (`socket.request.max.bytes`).
    pub fn max_request_bytes(mut self, bytes: usize) -> Self {
        self.max_request_bytes = bytes;
        self
    }

    /// The most fetch sessions kept at a time; a client that gets none names all its partitions in each fetch. Default
    /// 1,000, as in Kafka (`max.incremental.fetch.session.cache.slots`); 0 for none.
    pub fn fetch_sessions(mut self, sessions: usize) -> Self {
        self.fetch_sessions = sessions;
        self
    }

    /// The shortest session timeout that members of classic groups may ask for; shorter ones are refused with
    /// INVALID_SESSION_TIMEOUT. Default 1 s, which is less than Kafka's 6 s (`group.min.session.timeout.ms`) so that
    /// tests need not wait as long. The longest is 30 minutes, as in Kafka.
    pub fn min_session_timeout(mut self, timeout: Duration) -> Self {
        self.groups.shortest_session = timeout;
        self
    }

    /// How long a classic group that was empty waits for more members after its first. Default none, unlike Kafka's 3 s
    /// (`group.initial.rebalance.delay.ms`): tests need not wait, and a second member costs a second rebalance.
    pub fn initial_rebalance_delay(mut self, delay: Duration) -> Self {
        self.groups.initial_delay = delay;
        self
    }

    /// The most members of a group, by either protocol; further ones are refused with GROUP_MAX_SIZE_REACHED. Default
    /// no limit (`group.max.size`).
    pub fn max_group_size(mut self, members: usize) -> Self {
        self.groups.most_members = members;
        self
    }

    /// How soon members by the protocol of KIP-848 are told to send their next heartbeat. Default 5 s, as in Kafka
    /// (`group.consumer.heartbeat.interval.ms`). Sub-millisecond parts are not told.
    pub fn consumer_heartbeat_interval(mut self, interval: Duration) -> Self {
        self.groups.heartbeat_interval = interval;
        self
    }

    /// How long the broker waits for a heartbeat of a member by the protocol of KIP-848 before it gives the member up;
    /// members are not told. Default 45 s, as in Kafka (`group.consumer.session.timeout.ms`).
    pub fn consumer_session_timeout(mut self, timeout: Duration) -> Self {
        self.groups.consumer_session = timeout;
        self
    }

    /// Does not serve an API, as a broker that is older than it: it is not offered, and a request of it ends the
    /// connection. Without [`Api::ConsumerGroupHeartbeat`] groups speak the classic protocol only. Default: all are
    /// served.
    pub fn without(mut self, api: Api) -> Self {
        self.absent.push(api);
        self
    }

    /// Starts the broker on the runtime of the caller.
    ///
    /// # Errors
    /// [`EmbeddedError::Bind`] where the address cannot be listened on.
    pub async fn start(self) -> Result<Broker, EmbeddedError> {
        let bind = |source| EmbeddedError::Bind { address: self.address.to_string(), source };
        let listener = TcpListener::bind(self.address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let host = self.advertised_host.unwrap_or_else(|| match address.ip() {
            ip if ip.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
            ip => ip.to_string(),
        });
        let settings = Settings {
            host,
            port: address.port(),
            default_partitions: self.default_partitions,
            auto_create_topics: self.auto_create_topics,
            fetch_sessions: self.fetch_sessions,
            groups: self.groups,
            absent: self.absent,
        };
        let core = Core::new(State::new(settings, rand::random()));
        Ok(Broker::new(Server::start(core, listener, self.max_request_bytes), address))
    }
}
