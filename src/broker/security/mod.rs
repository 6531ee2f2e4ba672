//! How connections are encrypted and who this client says it is.
//!
//! ```
//! use bezoar::broker::ConnectionSettings;
//! use bezoar::broker::security::{Sasl, Secret, Security, Tls};
//!
//! let mut settings = ConnectionSettings::new(["kafka.example:9093"]);
//! settings.security = Security::default()
//!     .tls(Tls::new().ca_file("/etc/kafka/ca.pem"))
//!     .sasl(Sasl::scram_sha_512("fulfilment", Secret::file("/run/secrets/kafka-password")));
//! ```

mod sasl;
mod secret;
mod settings;
mod tls;
mod token;

pub use sasl::Sasl;
pub(crate) use sasl::{Mechanism, ScramHash};
pub use secret::Secret;
pub use settings::{SaslMechanism, SaslSettings, SecuritySettings, TlsSettings};
pub use tls::Tls;
#[cfg(feature = "tls")]
pub(crate) use tls::{Backend, Pem};
pub(crate) use token::Tokens;
pub use token::{Token, TokenError, TokenProvider};

use crate::policy::ConfigError;

/// How connections are encrypted and who this client says it is. Default: neither encryption nor a name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Security {
    /// TLS; `None` is plaintext. Needs the feature `tls`.
    pub tls: Option<Tls>,
    /// Authentication by SASL; `None` is none (a client certificate of TLS is authentication too).
    pub sasl: Option<Sasl>,
}

impl Security {
    /// Encrypts connections.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Authenticates by SASL.
    pub fn sasl(mut self, sasl: Sasl) -> Self {
        self.sasl = Some(sasl);
        self
    }

    /// Checks all that can be checked without a broker: that files can be read and hold what they should, that
    /// passwords are there.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the setting as a configuration file writes it, such as `security.tls.ca_file`.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if let Some(tls) = &self.tls {
            tls.validate()?;
        }
        self.sasl.as_ref().map_or(Ok(()), Sasl::validate)
    }
}
