use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use kafka_protocol::messages::MetadataResponse;
use tokio::time::timeout;

use super::address::address;
use super::call::{Call, Failed};
use super::connection::Connection;
use super::connector::Connector;
use super::lanes::Lanes;
use super::leaders::Leaders;
use super::pool::{Link, NoConnection, Opened, Pool};
use super::protection::Protection;
use super::refresh::Refreshes;
use super::topics;
use crate::broker::{BrokerError, ConnectionSettings};

/// What a connection is for. Each purpose has its own, since a broker answers the requests of one connection in turn: a
/// fetch that waits for data must not keep a commit waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// Metadata, topics, offsets, groups.
    Control,
    /// Fetches, which wait for data. Each source has a connection of its own, by number: two would wait for each other, and
    /// each closes it when it has nothing to read there any more.
    Fetch(usize),
    /// Records to be produced.
    Produce,
    /// Heartbeats of groups' members, which nothing may keep waiting.
    Group,
    /// Joining groups, which waits for other members. Each call under way has a connection of its own, by number: where
    /// two members of a group shared one, each would wait for the other.
    Join(usize),
}

impl Purpose {
    /// Whether something is changed over it that depends on which cluster it leads to.
    fn is_checked(self) -> bool {
        matches!(self, Self::Control | Self::Group | Self::Join(_))
    }
}

/// The brokers of a cluster: where they are, and one connection for each purpose to each that is in use.
pub(super) struct Cluster {
    pub(super) settings: ConnectionSettings,
    /// Who leads which partition, as metadata last told.
    pub(super) leaders: Leaders,
    pub(super) refreshes: Refreshes,
    /// The connections for joining groups that are in use.
    pub(super) joining: Lanes,
    /// The connections for fetching that are in use.
    pub(super) fetching: Lanes,
    connector: Arc<dyn Connector>,
    protection: Protection,
    pool: Arc<Pool>,
    state: Mutex<State>,
    /// For the tasks that this starts.
    pub(super) me: Weak<Self>,
}

#[derive(Default)]
struct State {
    /// The cluster's id, once told.
    id: Option<String>,
    /// Addresses by broker id, as metadata last told.
    brokers: HashMap<i32, String>,
    /// Coordinators' addresses by group.
    coordinators: HashMap<String, String>,
}

impl Cluster {
    pub(super) fn new(settings: ConnectionSettings, connector: Arc<dyn Connector>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            leaders: Leaders::new(settings.metadata_max_age),
            refreshes: Refreshes::default(),
            joining: Lanes::default(),
            fetching: Lanes::default(),
            connector,
            protection: Protection::new(&settings),
            pool: Arc::new(Pool::new(&settings)),
            state: Mutex::default(),
            me: me.clone(),
            settings,
        })
    }

    /// A connection to any broker: one that is open, else the first of the bootstrap and the known addresses that
    /// answers, each tried once; those that failed just now come last.
    pub(super) async fn any(&self, call: &Call) -> Result<Arc<Connection>, BrokerError> {
        if let Some(open) = self.pool.open(Purpose::Control) {
            return Ok(open);
        }
        let addresses = self.addresses();
        let (mut causes, mut refused) = (Vec::new(), None);
        for (index, address) in addresses.iter().enumerate() {
            // One address that swallows packets must not use up the time of those after it.
            let share = call.time_left() / u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            match timeout(share, self.link(address, Purpose::Control, self.settings.connect_timeout).ready()).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(NoConnection::ForNow(cause))) => causes.push(format!("{address}: {cause}")),
                Ok(Err(NoConnection::ForGood(error))) => {
                    causes.push(format!("{address}: {error}"));
                    refused.get_or_insert(error);
                }
                Err(_) => {
                    let cause = self.pool.failure(address).unwrap_or_else(|| no_connection_within(share));
                    causes.push(format!("{address}: {cause}"));
                }
            }
        }
        // What somebody must change says more than that others cannot be reached.
        Err(refused.unwrap_or_else(|| {
            let mut named = addresses;
            let place = |address: &String| self.settings.bootstrap.iter().position(|other| other == address);
            named.sort_by_key(|address| place(address).unwrap_or(usize::MAX));
            BrokerError::Unreachable { addresses: named.join(", "), causes: causes.join("; ") }
        }))
    }

    /// Bootstrap addresses first: they are what the user knows, and what holds when all known brokers were replaced.
    fn addresses(&self) -> Vec<String> {
        let mut addresses = self.settings.bootstrap.clone();
        let state = self.lock();
        addresses.extend(state.brokers.values().filter(|known| !self.settings.bootstrap.contains(known)).cloned());
        drop(state);
        self.pool.order(&mut addresses);
        addresses
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

    /// A connection for `purpose` to the broker at `address`. Where that failed just now, it takes until the next attempt.
    pub(super) async fn at(
        &self,
        address: &str,
        purpose: Purpose,
        call: &Call,
    ) -> Result<Arc<Connection>, BrokerError> {
        // An attempt that outlived the heartbeat it is for would hold up the next one, which may fare better.
        let within = match purpose {
            Purpose::Group => self.settings.connect_timeout.min(call.time_left()),
            _ => self.settings.connect_timeout,
        };
        let waiting = self.link(address, purpose, within).ready();
        match timeout(call.time_left(), waiting).await {
            Ok(Ok(connection)) => Ok(connection),
            // One broker that cannot be reached may be replaced by another soon: an error that is worth a retry.
            Ok(Err(NoConnection::ForNow(cause))) => Err(call.connection(self.unreached(address, &cause))),
            Ok(Err(NoConnection::ForGood(error))) => Err(error),
            // Out of time while waiting for another attempt: why there must be one says more.
            Err(_) => match self.pool.failure(address) {
                Some(cause) => Err(call.connection(self.unreached(address, &cause))),
                None => Err(call.timeout()),
            },
        }
    }

    /// Whether nothing but the brokers' word speaks for `address`: it has never answered.
    fn is_hearsay(&self, address: &str) -> bool {
        !self.settings.bootstrap.iter().any(|known| known == address) && !self.pool.was_reached(address)
    }

    /// Why `address` was not reached, for people.
    fn unreached(&self, address: &str, cause: &str) -> String {
        if !self.is_hearsay(address) {
            return format!("{address}: {cause}");
        }
        let bootstrap = self.settings.bootstrap.join(", ");
        format!(
            "{address}: {cause}; the brokers found by way of {bootstrap} give this address for one of them, and it has never \
             answered: check their advertised.listeners"
        )
    }

    fn link(&self, address: &str, purpose: Purpose, within: Duration) -> Link {
        let (me, target) = (self.me.clone(), address.to_owned());
        self.pool.connect(address, purpose, move || async move {
            match me.upgrade() {
                Some(cluster) => cluster.open(&target, purpose, within).await,
                None => Err(NoConnection::ForNow("the client was closed".to_owned())),
            }
        })
    }

    async fn open(&self, address: &str, purpose: Purpose, within: Duration) -> Opened {
        let call = Call::new(format!("connecting to {address}"), within);
        let handshake = async {
            let (connector, settings) = (&*self.connector, &self.settings);
            let connection = Arc::new(self.protection.open(connector, address, settings, &call).await?);
            if purpose.is_checked() {
                // Before anybody commits offsets over it: the address may lead to another cluster by now.
                match topics::ask(self, &connection, &call, &[]).await {
                    Ok(_) => {}
                    Err(Failed::ForNow(error) | Failed::ForGood(error)) => {
                        return Err(self.protection.refusal(error, connector, address, settings, &call).await);
                    }
                }
            }
            Ok(connection)
        };
        let result = timeout(within, handshake).await;
        let opened = match result {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(BrokerError::Connection { cause, .. })) => NoConnection::ForNow(cause),
            Ok(Err(BrokerError::Timeout { .. })) | Err(_) => NoConnection::ForNow(no_connection_within(within)),
            Ok(Err(error)) if error.is_retriable() => NoConnection::ForNow(error.to_string()),
            Ok(Err(error)) => NoConnection::ForGood(error),
        };
        tracing::debug!(address, ?purpose, error = %opened, "no connection");
        if self.pool.failure(address).is_none() && self.is_hearsay(address) {
            // Whoever waits for it hears of it only when its time is up.
            tracing::warn!("no connection to {}", self.unreached(address, &opened.to_string()));
        }
        Err(opened)
    }

    /// Takes over what metadata says of the cluster and its topics. An error if it is another cluster's.
    pub(super) fn learn(&self, call: &Call, answer: &MetadataResponse) -> Result<(), BrokerError> {
        let mut state = self.lock();
        if let Some(found) = answer.cluster_id.as_deref() {
            let expected = state.id.get_or_insert_with(|| found.to_owned());
            if expected != found {
                let (doing, expected) = (call.doing().to_owned(), expected.clone());
                return Err(BrokerError::OtherCluster { doing, expected, found: found.to_owned() });
            }
        }
        // A broker that has just started may not know of any yet, itself included.
        if !answer.brokers.is_empty() {
            let addresses = answer.brokers.iter().map(|broker| (*broker.node_id, address(&broker.host, broker.port)));
            state.brokers = addresses.collect();
            let known = |address: &str| {
                self.settings.bootstrap.iter().chain(state.brokers.values()).any(|known| known == address)
            };
            self.pool.retain(known);
        }
        drop(state);
        self.leaders.learn(answer);
        Ok(())
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

fn no_connection_within(within: Duration) -> String {
    let millis = Duration::from_millis(u64::try_from(within.as_millis()).unwrap_or(u64::MAX));
    format!(
        "no usable connection within {}: does a Kafka broker listen there, and does it answer?",
        humantime::format_duration(millis)
    )
}
