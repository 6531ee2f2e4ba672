//! Reading and producing through the rskafka client; topics and committed offsets over [`super::native`].
//!
//! What this adapter works around in rskafka is written where it is done, in `cursor` and `reader`; what it cannot do
//! is listed in `docs/limits.md`. All work runs on the runtime on which [`connect`] was called.

mod clients;
mod convert;
mod cursor;
mod error;
mod produce;
mod reader;
mod source;

use std::sync::Arc;

use tokio::runtime::Handle;

use self::clients::Clients;
use self::produce::Producer;
use self::source::Readers;
use super::security::Security;
use super::{BrokerError, ConnectionSettings, Ports, native};

/// Connects to a cluster. Each bootstrap address is tried once, in order.
///
/// # Errors
/// [`BrokerError::Unreachable`], which names each address and what went wrong there, if none answers;
/// [`BrokerError::Unsupported`] if [security](super::security) is set.
pub async fn connect(settings: ConnectionSettings) -> Result<Ports, BrokerError> {
    if settings.security != Security::default() {
        return Err(BrokerError::Unsupported {
            doing: "connecting through rskafka".to_owned(),
            remedy: "TLS and SASL are for our own connections only: use Plane::Native, or leave `security` out"
                .to_owned(),
        });
    }
    let native = native::connect(settings.clone()).await?;
    let clients = Arc::new(Clients::new(settings, native.clone()));
    let runtime = Handle::current();
    Ok(Ports {
        admin: Arc::new(native.clone()),
        source: Arc::new(Readers::new(Arc::clone(&clients), native.clone(), runtime.clone())),
        produce: Arc::new(Producer::new(clients, runtime)),
        offsets: Arc::new(native.clone()),
        membership: Some(Arc::new(native)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::security::Sasl;

    #[tokio::test]
    async fn security_is_refused_rather_than_left_out() {
        let mut settings = ConnectionSettings::new(["127.0.0.1:1"]);
        settings.security = Security::default().sasl(Sasl::plain("alice", "pw"));
        let error = connect(settings).await.err().unwrap();
        assert!(matches!(error, BrokerError::Unsupported { .. }) && !error.is_retriable(), "{error}");
    }
}
