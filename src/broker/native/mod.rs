//! Our own connections to brokers, over the kafka-protocol crate's messages.
//!
//! [`connect`] gives a [`Native`], which implements the ports [`Admin`](super::Admin) (topics, log offsets, groups),
//! [`OffsetStore`](super::OffsetStore) (committed offsets of groups) and [`Membership`](super::Membership) (being a member
//! of one); [`Native::ports`] adds the [`Source`](super::Source) and the [`Produce`](super::Produce). Requests are pipelined
//! over one connection per broker and purpose (control, fetch, produce, heartbeats, joining); brokers are found through metadata and reconnected to when a connection fails. All
//! work runs on the runtime on which [`connect`] was called, so that calls may come from any other.
//!
//! ```no_run
//! # async fn run() -> Result<(), bezoar::broker::BrokerError> {
//! use bezoar::broker::{Admin, ConnectionSettings, native};
//!
//! let broker = native::connect(ConnectionSettings::new(["localhost:9092"])).await?;
//! println!("{:?}", broker.topics(vec!["orders".to_owned()]).await?);
//! # Ok(())
//! # }
//! ```

mod address;
mod admin;
mod api;
mod backoff;
mod call;
mod cluster;
mod configs;
mod connection;
mod connector;
mod coordinator;
mod delete_records;
mod fetch;
mod frame;
mod groups;
mod lanes;
mod leaders;
mod list_offsets;
mod membership;
mod offsets;
mod pending;
mod pool;
#[cfg(feature = "testing")]
mod probe;
mod produce;
mod protection;
mod refresh;
mod sasl;
mod shape;
#[cfg(feature = "tls")]
pub(crate) mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
mod topics;
mod transport;
mod versions;

use std::future::Future;
use std::sync::Arc;

pub use connector::{Connector, Stream, Tcp};
#[cfg(feature = "testing")]
#[doc(hidden)]
pub use probe::fuzz_answer;
use tokio::runtime::Handle;

use self::call::Call;
use self::cluster::Cluster;
use self::fetch::Fetcher;
use self::produce::Producer;
use super::{BoxFuture, BrokerError, ConnectionSettings, Ports};

/// A client of a cluster over connections of our own. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct Native {
    cluster: Arc<Cluster>,
    runtime: Handle,
}

/// Connects over TCP. Each bootstrap address is tried once, in order; the first that answers is used.
///
/// # Errors
/// [`BrokerError::Unreachable`], which names each address and what went wrong there, if none answers;
/// [`BrokerError::Tls`] or [`BrokerError::Authentication`], if one does and refuses; [`BrokerError::Config`] for settings
/// of [security](super::security) that cannot be used.
pub async fn connect(settings: ConnectionSettings) -> Result<Native, BrokerError> {
    connect_with(settings, Arc::new(Tcp)).await
}

/// Connects like [`connect`], over streams that `connector` opens: pipes in memory, tunnels. TLS, if
/// it is set, goes over them.
///
/// # Errors
/// As for [`connect`].
pub async fn connect_with(settings: ConnectionSettings, connector: Arc<dyn Connector>) -> Result<Native, BrokerError> {
    settings.security.validate()?;
    let timeout = settings.request_timeout;
    let native = Native { cluster: Cluster::new(settings, connector), runtime: Handle::current() };
    let call = Call::new("connecting", timeout);
    native.run(call, |cluster, call| async move { cluster.any(&call).await.map(drop) }).await?;
    Ok(native)
}

impl Native {
    /// One of each port, over this client.
    pub fn ports(&self) -> Ports {
        Ports {
            admin: Arc::new(self.clone()),
            source: Arc::new(Fetcher::new(Arc::clone(&self.cluster), self.runtime.clone())),
            produce: Arc::new(Producer::new(Arc::clone(&self.cluster), self.runtime.clone())),
            offsets: Arc::new(self.clone()),
            membership: Some(Arc::new(self.clone())),
        }
    }

    /// Runs `work` on the runtime that the connections live on, whichever one the caller is on. Work that the caller
    /// drops goes on to its end or deadline, so that no request is left half sent.
    fn run<T, F>(&self, call: Call, work: impl FnOnce(Arc<Cluster>, Call) -> F) -> BoxFuture<Result<T, BrokerError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, BrokerError>> + Send + 'static,
    {
        let doing = call.doing().to_owned();
        let task = self.runtime.spawn(work(Arc::clone(&self.cluster), call));
        Box::pin(async move {
            match task.await {
                Ok(result) => result,
                // The runtime is shutting down.
                Err(_) => Err(BrokerError::Closed { doing }),
            }
        })
    }
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Native")
    }
}
