use std::io;

/// The endpoint's address cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("listening on {address} for the web endpoint: {cause}; choose an address of this machine with a free port")]
#[non_exhaustive]
pub struct ListenError {
    /// The address.
    pub address: String,
    /// What the operating system says.
    pub cause: io::Error,
}

/// The recorder for Prometheus cannot be installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrometheusError {
    /// A process has one recorder.
    #[error(
        "a recorder of the metrics facade is installed already, and a process has only one: bezoar's metrics go to that one, so \
         serve what it renders by Endpoint::metrics, or do without it and call prometheus() first and once"
    )]
    AlreadyInstalled,
}
