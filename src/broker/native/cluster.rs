use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_protocol::messages::metadata_response::MetadataResponseBroker;
use tokio::time::timeout;

use super::call::Call;
use super::connection::Connection;
use super::connector::Connector;
use super::leaders::Leaders;
use crate::broker::{BrokerError, ConnectionSettings};

/// What a connection is for. Each purpose has its own, since a broker answers the requests of one connection in turn: a
/// fetch that waits for data must not keep a commit waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// Metadata, topics, offsets, groups.
    Control,
    /// Fetches, which wait for data.
    Fetch,
    /// Records to be produced.
    Produce,
}

/// The brokers of a cluster: where they are, and one connection for each purpose to each that is in use.
pub(super) struct Cluster {
    pub(super) settings: ConnectionSettings,
    /// Who leads which partition, as metadata last told.
    pub(super) leaders: Leaders,
    connector: Arc<dyn Connector>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Addresses by broker id, as metadata last told.
    brokers: HashMap<i32, String>,
    /// Open connections by address and purpose.
    connections: HashMap<(String, Purpose), Arc<Connection>>,
    /// Coordinators' addresses by group.
    coordinators: HashMap<String, String>,
}

impl Cluster {
    pub(super) fn new(settings: ConnectionSettings, connector: Arc<dyn Connector>) -> Self {
        Self { settings, leaders: Leaders::default(), connector, state: Mutex::default() }
    }

    /// A connection to any broker: one that is open, else the first of the known and the bootstrap addresses that
    /// answers, each tried once.
    pub(super) async fn any(&self, call: &Call) -> Result<Arc<Connection>, BrokerError> {
        let addresses = {
            let mut state = self.lock();
            state.connections.retain(|_, connection| !connection.is_closed());
            let open = state.connections.iter().find(|((_, purpose), _)| *purpose == Purpose::Control);
            if let Some((_, connection)) = open {
                return Ok(Arc::clone(connection));
            }
            // Bootstrap addresses first: they are what the user knows, and what errors should name.
            let mut addresses = self.settings.bootstrap.clone();
            addresses.extend(state.brokers.values().filter(|known| !self.settings.bootstrap.contains(known)).cloned());
            addresses
        };
        let mut causes = Vec::new();
        for (index, address) in addresses.iter().enumerate() {
            // One address that swallows packets must not use up the time of those after it.
            let share = call.time_left() / u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            match self.open(address, Purpose::Control, share, call).await {
                Ok(connection) => return Ok(connection),
                Err(cause) => causes.push(format!("{address}: {cause}")),
            }
        }
        Err(BrokerError::Unreachable { addresses: addresses.join(", "), causes: causes.join("; ") })
    }

    /// A control connection to the broker `id`, or to any where its address is not known.
    pub(super) async fn broker(&self, id: i32, call: &Call) -> Result<Arc<Connection>, BrokerError> {
        let address = self.lock().brokers.get(&id).cloned();
        match address {
            Some(address) => self.at(&address, Purpose::Control, call).await,
            None => self.any(call).await,
        }
    }

    /// A connection for `purpose` to the broker `id`, which metadata must have told of.
    pub(super) async fn broker_for(
        &self,
        id: i32,
        purpose: Purpose,
        call: &Call,
    ) -> Result<Arc<Connection>, BrokerError> {
        let address = self.lock().brokers.get(&id).cloned();
        match address {
            Some(address) => self.at(&address, purpose, call).await,
            None => Err(call.connection(format!("the address of broker {id} is not known"))),
        }
    }

    /// A connection for `purpose` to the broker at `address`.
    pub(super) async fn at(
        &self,
        address: &str,
        purpose: Purpose,
        call: &Call,
    ) -> Result<Arc<Connection>, BrokerError> {
        let key = (address.to_owned(), purpose);
        if let Some(connection) = self.lock().connections.get(&key).filter(|connection| !connection.is_closed()) {
            return Ok(Arc::clone(connection));
        }
        // One broker that cannot be reached may be replaced by another soon: an error that is worth a retry.
        let opened = self.open(address, purpose, call.time_left(), call).await;
        opened.map_err(|cause| call.connection(format!("{address}: {cause}")))
    }

    async fn open(
        &self,
        address: &str,
        purpose: Purpose,
        within: Duration,
        call: &Call,
    ) -> Result<Arc<Connection>, String> {
        let settings = &self.settings;
        let handshake = async {
            let stream = self.connector.open(address.to_owned()).await.map_err(|error| error.to_string())?;
            let call = call.part(format!("asking {address} for its API versions"));
            Connection::open(stream, &settings.client_id, settings.max_response_bytes, &call)
                .await
                .map_err(|error| error.to_string())
        };
        let within = within.min(settings.connect_timeout);
        let connection = match timeout(within, handshake).await {
            Ok(result) => Arc::new(result?),
            Err(_) => {
                let millis = Duration::from_millis(within.as_millis() as u64);
                return Err(format!("no connection within {}", humantime::format_duration(millis)));
            }
        };
        self.lock().connections.insert((address.to_owned(), purpose), Arc::clone(&connection));
        Ok(connection)
    }

    /// Takes over what metadata says of the brokers.
    pub(super) fn learn(&self, brokers: &[MetadataResponseBroker]) {
        let addresses = brokers.iter().map(|broker| (*broker.node_id, format!("{}:{}", &*broker.host, broker.port)));
        self.lock().brokers = addresses.collect();
    }

    /// The address of `group`'s coordinator, as far as it is remembered.
    pub(super) fn coordinator(&self, group: &str) -> Option<String> {
        self.lock().coordinators.get(group).cloned()
    }

    /// Remembers or, with `None`, forgets the address of `group`'s coordinator.
    pub(super) fn set_coordinator(&self, group: &str, address: Option<String>) {
        let coordinators = &mut self.lock().coordinators;
        match address {
            Some(address) => coordinators.insert(group.to_owned(), address),
            None => coordinators.remove(group),
        };
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Held for short, consistent changes only.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
