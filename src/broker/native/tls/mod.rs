//! TLS over any stream: which roots and certificates, which cryptography, and what a failure means.

mod config;
mod explain;
mod material;
mod provider;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use self::explain::explain;
use self::material::Material;
use super::call::Call;
use super::connector::Stream;
use crate::broker::BrokerError;
use crate::broker::security::{Backend, Tls};
use crate::policy::ConfigError;

/// Checks the settings as far as that goes without a broker.
pub(crate) fn validate(tls: &Tls) -> Result<(), ConfigError> {
    if let Some(name) = &tls.server_name {
        server_name(name).map_err(|problem| {
            let remedy = "give the host name or IP address that the brokers' certificates are for";
            ConfigError::new("security.tls.server_name", name, problem, remedy)
        })?;
    }
    Client { settings: tls.clone(), current: Mutex::default() }.config().map(drop)
}

/// The configuration of rustls that settings come to, for connections to others than brokers.
#[cfg(feature = "web")]
pub(crate) fn client_config(tls: &Tls) -> Result<Arc<ClientConfig>, ConfigError> {
    Client { settings: tls.clone(), current: Mutex::default() }.config()
}

/// Makes encrypted streams of plain ones.
pub(super) struct Client {
    settings: Tls,
    /// What the last configuration was made of, and it.
    current: Mutex<Option<(Material, Arc<ClientConfig>)>>,
}

impl Client {
    /// `None` in builds without TLS.
    pub(super) fn new(settings: &Tls) -> Option<Self> {
        Some(Self { settings: settings.clone(), current: Mutex::default() })
    }

    /// Whether a client certificate goes with it, as far as the settings tell.
    fn has_certificate(&self) -> bool {
        self.settings.client.is_some() || matches!(self.settings.backend, Backend::Config(_))
    }

    /// Encrypts `stream`, which leads to `address`.
    pub(super) async fn secure(
        self: &Arc<Self>,
        stream: Box<dyn Stream>,
        address: &str,
        call: &Call,
    ) -> Result<Box<dyn Stream>, BrokerError> {
        let client = Arc::clone(self);
        // Reads files.
        let config = tokio::task::spawn_blocking(move || client.config())
            .await
            .map_err(|_| BrokerError::Closed { doing: call.doing().to_owned() })??;
        let name = self.settings.server_name.as_deref().unwrap_or_else(|| host(address));
        let name = server_name(name).map_err(|problem| {
            call.tls(format!("the host {name:?} {problem}: correct the address, or set security.tls.server_name"))
        })?;
        match TlsConnector::from(config).connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(self
                .explain(&error, call)
                .unwrap_or_else(|| call.connection(format!("the connection failed in the TLS handshake: {error}")))),
        }
    }

    /// What a failure of a stream means, where TLS is why it failed.
    pub(super) fn explain(&self, error: &io::Error, call: &Call) -> Option<BrokerError> {
        let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
        Some(call.tls(explain(error, self.has_certificate())))
    }

    /// The configuration, made anew where a file has changed.
    fn config(&self) -> Result<Arc<ClientConfig>, ConfigError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let made = Material::read(&self.settings).and_then(|material| match &*current {
            Some((same, config)) if *same == material => Ok((material, Arc::clone(config))),
            _ => config::build(&self.settings, &material).map(|config| (material, config)),
        });
        match (made, &*current) {
            (Ok((material, config)), _) => {
                *current = Some((material, Arc::clone(&config)));
                Ok(config)
            }
            (Err(error), Some((_, config))) => {
                tracing::warn!("TLS goes on with the certificates read before: {error}");
                Ok(Arc::clone(config))
            }
            (Err(error), None) => Err(error),
        }
    }
}

/// The host of `host:port`, an IPv6 address without its brackets.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn server_name(name: &str) -> Result<ServerName<'static>, &'static str> {
    // A dot at the end says that a name is complete; certificates don't have it.
    let name = name.strip_suffix('.').unwrap_or(name);
    ServerName::try_from(name.to_owned()).map_err(|_| "is neither a host name nor an IP address")
}

#[cfg(test)]
mod tests;
