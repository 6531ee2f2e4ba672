//! A network in memory: addresses at which brokers of a script listen, or nobody.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::native::{self, Connector, Native, Stream};
use bezoar::broker::{BoxFuture, BrokerError, ConnectionSettings};
use tokio::io::duplex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::peer::{Peer, serve};

/// What is behind an address.
#[derive(Clone)]
pub(crate) enum Behind {
    /// A broker.
    Broker(Arc<Peer>),
    /// A broker whose host takes its time.
    Slow(Duration, Arc<Peer>),
    /// A host that swallows packets.
    Silence,
}

/// Addresses behind which there is nothing refuse connections.
#[derive(Default)]
pub(crate) struct Net {
    behind: Mutex<HashMap<String, Behind>>,
    attempts: Mutex<Vec<(String, Instant)>>,
    open: Arc<Mutex<JoinSet<()>>>,
}

impl Net {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Puts something behind an address.
    pub(crate) fn put(&self, address: &str, behind: Behind) {
        self.behind.lock().unwrap().insert(address.to_owned(), behind);
    }

    /// Puts nothing behind an address. Connections that are open stay so.
    pub(crate) fn remove(&self, address: &str) {
        self.behind.lock().unwrap().remove(address);
    }

    /// Closes all connections.
    pub(crate) async fn hang_up(&self) {
        let mut open = std::mem::take(&mut *self.open.lock().unwrap());
        open.shutdown().await;
        // Whoever has to notice it runs.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    /// When somebody tried to connect to an address.
    pub(crate) fn attempts(&self, address: &str) -> Vec<Instant> {
        let attempts = self.attempts.lock().unwrap();
        attempts.iter().filter(|(to, _)| to == address).map(|(_, at)| *at).collect()
    }

    pub(crate) async fn connect(self: &Arc<Self>, bootstrap: &[&str]) -> Result<Native, BrokerError> {
        let settings = ConnectionSettings::new(bootstrap.iter().copied());
        native::connect_with(settings, Arc::clone(self) as Arc<dyn Connector>).await
    }
}

impl Connector for Net {
    fn open(&self, address: String) -> BoxFuture<io::Result<Box<dyn Stream>>> {
        self.attempts.lock().unwrap().push((address.clone(), Instant::now()));
        let behind = self.behind.lock().unwrap().get(&address).cloned();
        let open = Arc::clone(&self.open);
        Box::pin(async move {
            let peer = match behind {
                Some(Behind::Broker(peer)) => peer,
                Some(Behind::Slow(after, peer)) => {
                    tokio::time::sleep(after).await;
                    peer
                }
                Some(Behind::Silence) => std::future::pending().await,
                None => return Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
            };
            let (near, far) = duplex(1 << 16);
            open.lock().unwrap().spawn(serve(peer, far));
            Ok(Box::new(near) as Box<dyn Stream>)
        })
    }
}
