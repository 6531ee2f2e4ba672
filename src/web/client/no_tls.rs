use tokio::net::TcpStream;

use super::answer::Problem;
use crate::broker::security::Tls;
use crate::policy::ConfigError;

/// Encrypts nothing, since this build has no TLS.
pub(super) struct Secure;

impl Secure {
    pub(super) fn new(_: Tls) -> Self {
        Self
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let remedy = "build bezoar with the feature `tls`, or give an address that begins with http://";
        Err(ConfigError::new("security.tls", "https", "needs TLS, which this build does not have", remedy))
    }

    pub(super) async fn encrypt(&self, _: TcpStream, _: &str) -> Result<TcpStream, Problem> {
        Err(Problem::Tls("this build has no TLS: the feature `tls` is off".to_owned()))
    }
}
