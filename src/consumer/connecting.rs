use std::time::Duration;

use super::builder::ConsumerBuilder;
use crate::broker::security::Security;
use crate::broker::{Plane, Ports, ProduceSettings, ReadIsolation};

/// How the broker is reached, and how records are fetched from it.
impl ConsumerBuilder {
    /// Which client reads and produces. Default [`Plane::Native`].
    pub fn plane(mut self, plane: Plane) -> Self {
        self.settings.plane = plane;
        self
    }

    /// Brokers to start from: `host:port`, several separated by commas. Required.
    pub fn bootstrap(mut self, addresses: &str) -> Self {
        let addresses = addresses.split(',').map(str::trim).filter(|address| !address.is_empty());
        self.settings.connection.bootstrap = addresses.map(str::to_owned).collect();
        self
    }

    /// Uses these ports instead of connecting by `bootstrap`: for other adapters, and for tests.
    pub fn ports(mut self, ports: Ports) -> Self {
        self.ports = Some(ports);
        self
    }

    /// The client id sent with each request. Default `bezoar`.
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.settings.connection.client_id = id.into();
        self
    }

    /// TLS and SASL. Default neither. Not for [`Plane::Rskafka`].
    ///
    /// ```
    /// use bezoar::broker::security::{Sasl, Secret, Security, Tls};
    ///
    /// let security = Security::default()
    ///     .tls(Tls::new().ca_file("/etc/kafka/ca.pem"))
    ///     .sasl(Sasl::scram_sha_512("fulfilment", Secret::env("KAFKA_PASSWORD")));
    /// let builder = bezoar::Consumer::builder("fulfilment").bootstrap("broker:9093").security(security);
    /// ```
    pub fn security(mut self, security: Security) -> Self {
        self.settings.connection.security = security;
        self
    }

    /// How dead letters, and records that handlers send, are produced. Default [`ProduceSettings::default`]. Not for
    /// [`Plane::Rskafka`].
    pub fn produce(mut self, settings: ProduceSettings) -> Self {
        self.settings.connection.produce = settings;
        self
    }

    /// How many times the broker is tried at start before the error is returned. Default 5. Waits between them grow from about
    /// 250 ms to 5 s: where connections are refused at once, the default gives up after some 3 s.
    pub fn start_attempts(mut self, attempts: u32) -> Self {
        self.settings.start_attempts = attempts;
        self
    }

    /// How long to wait for a connection. Default 10 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connection.connect_timeout = timeout;
        self
    }

    /// How long to wait for an answer of the broker. Default 30 s.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connection.request_timeout = timeout;
        self
    }

    /// How often metadata is asked for anew though nothing failed. Default 5 min.
    pub fn metadata_max_age(mut self, age: Duration) -> Self {
        self.settings.connection.metadata_max_age = age;
        self
    }

    /// The most bytes fetched ahead per partition. Default 2 MiB. One batch may exceed it.
    pub fn feed_bytes(mut self, bytes: usize) -> Self {
        self.settings.feed_bytes = bytes;
        self
    }

    /// The most bytes that one fetch asks for per partition. Default 1 MiB. A larger record still arrives.
    pub fn fetch_max_bytes(mut self, bytes: i32) -> Self {
        self.settings.connection.fetch_max_bytes = bytes;
        self
    }

    /// The most bytes that one fetch asks of a broker for all its partitions together. Default 16 MiB. A larger record
    /// still arrives. Not for [`Plane::Rskafka`], which fetches partition by partition.
    pub fn fetch_max_bytes_per_broker(mut self, bytes: i32) -> Self {
        self.settings.connection.fetch_max_bytes_per_broker = bytes;
        self
    }

    /// How many bytes the broker gathers before it answers a fetch, as far as [`fetch_max_wait`](Self::fetch_max_wait)
    /// allows. Default 1.
    pub fn fetch_min_bytes(mut self, bytes: i32) -> Self {
        self.settings.connection.fetch_min_bytes = bytes;
        self
    }

    /// How long the broker may wait for data before it answers a fetch. Default 500 ms.
    pub fn fetch_max_wait(mut self, wait: Duration) -> Self {
        self.settings.connection.fetch_max_wait = wait;
        self
    }

    /// The largest answer of the broker that is accepted, in bytes. Default 256 MiB.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.settings.connection.max_response_bytes = bytes;
        self
    }

    /// The most bytes that one compressed record batch may decompress to. Default 128 MiB. A larger one counts as
    /// corrupt: a few bytes can be made to decompress to gigabytes. Not for [`Plane::Rskafka`].
    pub fn max_decompressed_bytes(mut self, bytes: usize) -> Self {
        self.settings.connection.max_decompressed_bytes = bytes;
        self
    }

    /// Which records are read while transactions are open or aborted. Default [`ReadIsolation::ReadCommitted`]. Not for
    /// [`Plane::Rskafka`]: see `docs/limits.md`.
    pub fn read_isolation(mut self, isolation: ReadIsolation) -> Self {
        self.settings.connection.read_isolation = isolation;
        self
    }

    /// The largest request sent, in bytes. Default 100 MiB, which is what brokers accept (`socket.request.max.bytes`).
    pub fn max_request_bytes(mut self, bytes: usize) -> Self {
        self.settings.connection.max_request_bytes = bytes;
        self
    }

    /// How long to wait before connecting to an address again after a first failure; doubled with each further one up to
    /// `longest`, give or take a fifth. Default 50 ms, up to 1 s.
    pub fn reconnect_backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.settings.connection.reconnect_backoff = first;
        self.settings.connection.reconnect_backoff_max = longest;
        self
    }
}
