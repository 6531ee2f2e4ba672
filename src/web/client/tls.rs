use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::answer::Problem;
use crate::broker::native::tls;
use crate::broker::security::Tls;
use crate::policy::ConfigError;

/// Encrypts connections, as those to brokers are.
pub(super) struct Secure {
    settings: Tls,
    /// Made once, and anew after a failure: a file may have changed.
    config: Mutex<Option<Arc<ClientConfig>>>,
}

impl Secure {
    pub(super) fn new(settings: Tls) -> Self {
        Self { settings, config: Mutex::default() }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        tls::validate(&self.settings)
    }

    /// Encrypts a connection to a host.
    pub(super) async fn encrypt(&self, stream: TcpStream, host: &str) -> Result<TlsStream<TcpStream>, Problem> {
        let known = self.known().clone();
        let config = match known {
            Some(config) => config,
            None => {
                let settings = self.settings.clone();
                // Reads files.
                let made = tokio::task::spawn_blocking(move || tls::client_config(&settings)).await;
                let made = made.map_err(|_| Problem::Tls("the runtime ends".to_owned()))?;
                let config = made.map_err(|error| Problem::Tls(error.to_string()))?;
                *self.known() = Some(Arc::clone(&config));
                config
            }
        };
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Problem::Tls(format!("{host:?} is neither a host name nor an IP address")))?;
        TlsConnector::from(config).connect(name, stream).await.map_err(|error| {
            *self.known() = None;
            Problem::Tls(format!("no encrypted connection to {host}: {error}"))
        })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Option<Arc<ClientConfig>>> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
