//! From a connector's stream to a connection that may be used: TLS, the first question, SASL. And, where that fails,
//! what somebody must change.

mod witness;

use std::sync::Arc;

use kafka_protocol::messages::SaslHandshakeRequest;

use self::witness::Witness;
use super::call::Call;
use super::connection::Connection;
use super::connector::{Connector, Stream};
use super::sasl;
use super::tls::Client;
use crate::broker::{BrokerError, ConnectionSettings};

/// Opens connections as the settings of security say.
pub(super) struct Protection {
    tls: Option<Arc<Client>>,
}

/// The first bytes of an alert: its content type, and the major version of TLS. As the length of an answer they would
/// mean 352 MB.
const TLS_ALERT: [u8; 2] = [0x15, 0x03];

impl Protection {
    pub(super) fn new(settings: &ConnectionSettings) -> Self {
        Self { tls: settings.security.tls.as_ref().and_then(Client::new).map(Arc::new) }
    }

    /// A connection to `address` over which any request may be sent.
    pub(super) async fn open(
        &self,
        connector: &dyn Connector,
        address: &str,
        settings: &ConnectionSettings,
        call: &Call,
    ) -> Result<Connection, BrokerError> {
        let stream = plain(connector, address, call).await?;
        let stream = match &self.tls {
            None => stream,
            Some(tls) => match tls.secure(stream, address, call).await {
                Err(BrokerError::Connection { .. }) if speaks_plaintext(connector, address, settings, call).await => {
                    return Err(call.tls(
                        "this port expects plaintext, and TLS is set: leave security.tls out, or use a port with TLS",
                    ));
                }
                other => other?,
            },
        };
        let witness = Witness::default();
        let opened = Connection::open(witness.watch(stream), settings, call).await;
        let mut connection = opened.map_err(|error| self.explain(error, &witness, call))?;
        if let Some(sasl) = &settings.security.sasl {
            connection.authenticate(sasl, call).await?;
        }
        Ok(connection)
    }

    /// What it means that the first request after the greeting failed. A broker that wants SASL answers the greeting, and
    /// closes the connection at anything else without a word, but tells its mechanisms to those who ask for one.
    pub(super) async fn refusal(
        &self,
        error: BrokerError,
        connector: &dyn Connector,
        address: &str,
        settings: &ConnectionSettings,
        call: &Call,
    ) -> BrokerError {
        if settings.security.sasl.is_some() || !matches!(error, BrokerError::Connection { .. }) {
            return error;
        }
        let Ok(connection) = self.open(connector, address, settings, call).await else { return error };
        let answer = connection.call_outside_session(call, &SaslHandshakeRequest::default()).await;
        match answer.ok().as_ref().and_then(sasl::offered) {
            Some(offered) => call.authentication(format!(
                "this port wants SASL ({offered}), and none is set: set security.sasl, or use a port without"
            )),
            None => error,
        }
    }

    /// What it means that a connection's first question was not answered.
    fn explain(&self, error: BrokerError, witness: &Witness, call: &Call) -> BrokerError {
        if !matches!(error, BrokerError::Connection { .. }) {
            return error;
        }
        let seen = witness.seen();
        match &self.tls {
            // In TLS 1.3 what is wrong with a client certificate is said after the handshake.
            Some(tls) => seen.failure.as_ref().and_then(|failure| tls.explain(failure, call)).unwrap_or(error),
            None if seen.first == TLS_ALERT => {
                call.tls("this port expects TLS, and none is set: set security.tls, or use a plaintext port")
            }
            None if seen.first.is_empty() => {
                call.connection("closed without an answer; is it a port of a Kafka broker, and does it expect TLS?")
            }
            None => error,
        }
    }
}

async fn plain(connector: &dyn Connector, address: &str, call: &Call) -> Result<Box<dyn Stream>, BrokerError> {
    connector.open(address.to_owned()).await.map_err(|error| {
        // Errors of ours that a connector's error carries stay what they are.
        match error.get_ref().and_then(|inner| inner.downcast_ref::<BrokerError>()) {
            Some(ours) => ours.clone(),
            None => call.connection(error),
        }
    })
}

/// Whether the broker answers without TLS. It learns nothing but the client id.
async fn speaks_plaintext(
    connector: &dyn Connector,
    address: &str,
    settings: &ConnectionSettings,
    call: &Call,
) -> bool {
    match plain(connector, address, call).await {
        Ok(stream) => Connection::open(stream, settings, call).await.is_ok(),
        Err(_) => false,
    }
}
