use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::Shared;
use tokio::time::{Instant, sleep_until};

use super::backoff::Backoffs;
use super::cluster::Purpose;
use super::connection::Connection;
use crate::broker::{BoxFuture, BrokerError, ConnectionSettings};

/// Why there is no connection to an address.
#[derive(Debug, Clone)]
pub(super) enum NoConnection {
    /// Another attempt may succeed; the cause.
    ForNow(String),
    /// Another attempt would not help.
    ForGood(BrokerError),
}

impl fmt::Display for NoConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForNow(cause) => f.write_str(cause),
            Self::ForGood(error) => error.fmt(f),
        }
    }
}

/// What an attempt to connect comes to.
pub(super) type Opened = Result<Arc<Connection>, NoConnection>;

/// An attempt to connect that any number of callers wait for. It goes on when they don't.
type Opening = Shared<BoxFuture<Opened>>;

/// A connection, there or on its way.
pub(super) enum Link {
    Open(Arc<Connection>),
    Opening(Opening),
}

/// At most one connection for each address and purpose. One that is gone is opened anew when it is next asked for.
pub(super) struct Pool {
    state: Mutex<State>,
}

struct State {
    links: HashMap<(String, Purpose), Link>,
    backoffs: Backoffs,
    /// The addresses that have answered.
    reached: HashSet<String>,
}

impl Pool {
    pub(super) fn new(settings: &ConnectionSettings) -> Self {
        let backoffs = Backoffs::new(settings.reconnect_backoff, settings.reconnect_backoff_max);
        Self { state: Mutex::new(State { links: HashMap::new(), backoffs, reached: HashSet::new() }) }
    }

    /// The open connection for `purpose` that has least to do.
    pub(super) fn open(&self, purpose: Purpose) -> Option<Arc<Connection>> {
        let state = self.lock();
        let open = |(key, link): (&(String, Purpose), &Link)| match link {
            Link::Open(connection) if key.1 == purpose && !connection.is_closed() => Some(Arc::clone(connection)),
            _ => None,
        };
        state.links.iter().filter_map(open).min_by_key(|connection| connection.load())
    }

    /// The connection to `address` for `purpose`: the one that is there, or on its way, else the one that `open` makes, once
    /// the address may be connected to again.
    pub(super) fn connect<F>(
        self: &Arc<Self>,
        address: &str,
        purpose: Purpose,
        open: impl FnOnce() -> F + Send + 'static,
    ) -> Link
    where
        F: Future<Output = Opened> + Send + 'static,
    {
        let key = (address.to_owned(), purpose);
        let mut state = self.lock();
        match state.links.get(&key) {
            Some(Link::Open(connection)) if !connection.is_closed() => return Link::Open(Arc::clone(connection)),
            Some(Link::Opening(opening)) => return Link::Opening(opening.clone()),
            _ => {}
        }
        let not_before = state.backoffs.not_before(address);
        let (pool, opened) = (Arc::clone(self), key.clone());
        // A task of its own: whoever gives up waiting must not stop it for the others.
        let task = tokio::spawn(async move {
            if let Some(not_before) = not_before {
                sleep_until(not_before).await;
            }
            let result = open().await;
            pool.opened(opened, &result);
            result
        });
        let ended = || Err(NoConnection::ForNow("the client is closing".to_owned()));
        let opening: BoxFuture<Opened> = Box::pin(task.map(move |result| result.unwrap_or_else(|_| ended())));
        let opening = opening.shared();
        state.links.insert(key, Link::Opening(opening.clone()));
        Link::Opening(opening)
    }

    /// Why the last attempt to connect to `address` failed, if it did.
    pub(super) fn failure(&self, address: &str) -> Option<String> {
        self.lock().backoffs.cause(address).map(str::to_owned)
    }

    /// Whether there was ever a connection to `address`.
    pub(super) fn was_reached(&self, address: &str) -> bool {
        self.lock().reached.contains(address)
    }

    /// Orders addresses by when they may be connected to; among equals the order stays.
    pub(super) fn order(&self, addresses: &mut [String]) {
        let (state, now) = (self.lock(), Instant::now());
        addresses.sort_by_key(|address| state.backoffs.not_before(address).filter(|time| *time > now));
    }

    /// Forgets the addresses that are not to be kept. Who uses a connection to one of them keeps it.
    pub(super) fn retain(&self, keep: impl Fn(&str) -> bool) {
        let mut state = self.lock();
        state.links.retain(|(address, _), _| keep(address));
        state.reached.retain(|address| keep(address));
        state.backoffs.retain(keep);
    }

    fn opened(&self, key: (String, Purpose), result: &Opened) {
        let mut state = self.lock();
        match result {
            Ok(connection) => {
                state.backoffs.succeeded(&key.0);
                state.reached.insert(key.0.clone());
                state.links.insert(key, Link::Open(Arc::clone(connection)));
            }
            Err(failed) => {
                state.backoffs.failed(&key.0, failed.to_string(), Instant::now(), rand::random());
                state.links.remove(&key);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Held for short, consistent changes only.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    /// Waits for the connection.
    pub(super) async fn ready(self) -> Opened {
        match self {
            Self::Open(connection) => Ok(connection),
            Self::Opening(opening) => opening.await,
        }
    }
}
