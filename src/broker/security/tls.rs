use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "tls")]
use tokio_rustls::rustls::{ClientConfig, crypto::CryptoProvider};

use crate::policy::ConfigError;

/// TLS 1.2 and 1.3, by rustls.
///
/// Brokers must have a certificate for the host name (or IP address) that they are connected to by, signed by one of
/// the roots. Without [`ca_file`](Self::ca_file) or [`ca_pem`](Self::ca_pem) these are the system's. Files are read
/// anew for each connection, so that certificates that were renewed are taken up; while a changed file cannot be used,
/// a warning is logged and the last good one stays.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Tls {
    pub(crate) authorities: Vec<Pem>,
    pub(crate) system_roots: Option<bool>,
    pub(crate) client: Option<Identity>,
    pub(crate) server_name: Option<String>,
    #[cfg(feature = "tls")]
    pub(crate) backend: Backend,
}

/// A client certificate and its key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) certificate: Pem,
    pub(crate) key: Pem,
}

/// Text in PEM format, or the file that holds it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Pem {
    File(PathBuf),
    Bytes(Arc<[u8]>),
}

/// What does the cryptography.
#[cfg(feature = "tls")]
#[derive(Clone, Default)]
pub(crate) enum Backend {
    /// The built-in choice.
    #[default]
    BuiltIn,
    /// The user's provider.
    Provider(Arc<CryptoProvider>),
    /// The user's whole configuration.
    Config(Arc<ClientConfig>),
}

impl Tls {
    /// The system's roots, no client certificate, the built-in choice of cryptography.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts the certificates in a PEM file: those of the authorities that signed the brokers' certificates, or these
    /// themselves. May be given more than once. The system's roots are then left out, unless
    /// [asked for](Self::system_roots).
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.authorities.push(Pem::File(path.into()));
        self
    }

    /// Like [`ca_file`](Self::ca_file), with the PEM text itself.
    pub fn ca_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.authorities.push(Pem::Bytes(pem.as_ref().into()));
        self
    }

    /// Whether the system's roots are trusted. Default: only where no other roots are given.
    pub fn system_roots(mut self, trusted: bool) -> Self {
        self.system_roots = Some(trusted);
        self
    }

    /// Shows brokers a client certificate, followed in its file by those between it and the authority, if there are
    /// any. The key is PEM text of PKCS #8, PKCS #1 or SEC1, not encrypted; both may be one file.
    pub fn client_certificate_files(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.client = Some(Identity { certificate: Pem::File(certificate.into()), key: Pem::File(key.into()) });
        self
    }

    /// Like [`client_certificate_files`](Self::client_certificate_files), with the PEM texts themselves.
    pub fn client_certificate_pem(mut self, certificate: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Self {
        let (certificate, key) = (Pem::Bytes(certificate.as_ref().into()), Pem::Bytes(key.as_ref().into()));
        self.client = Some(Identity { certificate, key });
        self
    }

    /// The name (or IP address) that the certificates of all brokers must be for, instead of that in each one's
    /// address: for tunnels and port forwards.
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    /// Uses this provider of cryptography instead of the built-in choice.
    #[cfg(feature = "tls")]
    pub fn provider(mut self, provider: Arc<CryptoProvider>) -> Self {
        self.backend = Backend::Provider(provider);
        self
    }

    /// Uses a whole configuration of rustls as it is; of the other settings only
    /// [`server_name`](Self::server_name) may go with it.
    #[cfg(feature = "tls")]
    pub fn with_config(config: Arc<ClientConfig>) -> Self {
        Self { backend: Backend::Config(config), ..Self::default() }
    }

    #[cfg(feature = "tls")]
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        crate::broker::native::tls::validate(self)
    }

    #[cfg(not(feature = "tls"))]
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let problem = "needs TLS, which this build does not have";
        let remedy = "build bezoar with the feature `tls`, or leave the setting out";
        Err(ConfigError::new("security.tls", "set", problem, remedy))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Tls");
        shown
            .field("authorities", &self.authorities)
            .field("system_roots", &self.system_roots)
            .field("client_certificate", &self.client.as_ref().map(|client| &client.certificate))
            .field("client_key", &self.client.as_ref().map(|client| &client.key))
            .field("server_name", &self.server_name);
        #[cfg(feature = "tls")]
        shown.field("backend", &self.backend);
        shown.finish()
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{path:?}"),
            // It may be a key.
            Self::Bytes(_) => f.write_str("PEM text"),
        }
    }
}

#[cfg(feature = "tls")]
impl PartialEq for Backend {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::BuiltIn, Self::BuiltIn) => true,
            (Self::Provider(one), Self::Provider(other)) => Arc::ptr_eq(one, other),
            (Self::Config(one), Self::Config(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

#[cfg(feature = "tls")]
impl Eq for Backend {}

#[cfg(feature = "tls")]
impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BuiltIn => "built-in",
            Self::Provider(_) => "provider",
            Self::Config(_) => "config",
        })
    }
}
