//! Authentication by SASL over Kafka's own requests, at the start of a connection and again before its session ends
//! (KIP-368).

mod mechanism;
mod scram;
mod session;

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::{
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use kafka_protocol::protocol::StrBytes;
use rand::Rng;
use rand::distr::Alphanumeric;

use self::mechanism::{Exchange, Next};
use self::scram::Scram;
pub(super) use self::session::{Session, Turn};
use super::call::Call;
use super::connection::Connection;
use crate::broker::BrokerError;
use crate::broker::security::{Mechanism, Sasl};

const UNSUPPORTED_MECHANISM: i16 = 33;
const ILLEGAL_STATE: i16 = 34;
const AUTHENTICATION_FAILED: i16 = 58;
/// More messages than any mechanism has.
const MAX_MESSAGES: usize = 8;

/// Authenticates, and returns how long the session lasts; `None` is as long as the connection. After an error the
/// connection cannot be used.
async fn authenticate(connection: &Connection, sasl: &Sasl, call: &Call) -> Result<Option<Duration>, BrokerError> {
    let mechanism = &sasl.mechanism;
    let call = call.part(format!("{}, authenticating {}", call.doing(), mechanism.who()));
    let mut exchange = begin(mechanism, &call).await?;

    let name = StrBytes::from_static_str(mechanism.name());
    let answer = connection.call_outside_session(&call, &SaslHandshakeRequest::default().with_mechanism(name)).await?;
    match answer.error_code {
        0 => {}
        UNSUPPORTED_MECHANISM => {
            let name = mechanism.name();
            let cause = match offered(&answer) {
                Some(offered) => format!("the broker does not offer {name} here ({offered})"),
                None => format!("the broker does not offer {name} here"),
            };
            return Err(call.authentication(cause));
        }
        ILLEGAL_STATE => {
            let cause = "this port wants no SASL, and it is set: leave security.sasl out, or use a port with SASL";
            return Err(call.authentication(cause));
        }
        code => return Err(call.response(code, None)),
    }

    let mut message = exchange.first();
    for _ in 0..MAX_MESSAGES {
        let request = SaslAuthenticateRequest::default().with_auth_bytes(Bytes::from(message));
        let answer = connection.call_outside_session(&call, &request).await?;
        if answer.error_code != 0 {
            if let Mechanism::OAuthBearer(tokens) = mechanism {
                tokens.discard().await;
            }
            return Err(refused(&call, mechanism, &answer));
        }
        // Deriving keys takes milliseconds of computing.
        let computing = tokio::task::spawn_blocking(move || {
            let next = exchange.next(&answer.auth_bytes);
            (exchange, next, answer.session_lifetime_ms)
        });
        let (back, next, lifetime) =
            computing.await.map_err(|_| BrokerError::Closed { doing: call.doing().to_owned() })?;
        exchange = back;
        match next.map_err(|cause| call.authentication(cause))? {
            Next::Send(next) => message = next,
            Next::Done => {
                let lifetime = u64::try_from(lifetime).unwrap_or(0);
                return Ok((lifetime > 0).then(|| Duration::from_millis(lifetime)));
            }
        }
    }
    Err(call.authentication("the broker does not come to an end"))
}

/// Reads the password or gets the token.
async fn begin(mechanism: &Mechanism, call: &Call) -> Result<Exchange, BrokerError> {
    let (username, password) = match mechanism {
        Mechanism::Plain { username, password } | Mechanism::Scram { username, password, .. } => (username, password),
        Mechanism::OAuthBearer(tokens) => {
            let token = call.bound(tokens.token()).await?;
            // What issues tokens may be back soon: worth a retry.
            let token = token.map_err(|cause| call.connection(format!("the token provider failed: {cause}")))?;
            return Exchange::bearer(&token).map_err(|cause| call.authentication(cause));
        }
    };
    let password = password.clone();
    // It may be in a file.
    let reading = tokio::task::spawn_blocking(move || password.read("security.sasl.password"));
    let password = reading.await.map_err(|_| BrokerError::Closed { doing: call.doing().to_owned() })??;
    Ok(match mechanism {
        Mechanism::Scram { hash, .. } => {
            let nonce: String = rand::rng().sample_iter(Alphanumeric).take(32).map(char::from).collect();
            Exchange::Scram(Box::new(Scram::new(*hash, username, &password, &nonce)))
        }
        _ => Exchange::plain(username, &password),
    })
}

fn refused(call: &Call, mechanism: &Mechanism, answer: &SaslAuthenticateResponse) -> BrokerError {
    let said = answer.error_message.as_deref().filter(|text| !text.is_empty());
    if answer.error_code != AUTHENTICATION_FAILED && answer.error_code != ILLEGAL_STATE {
        return call.response(answer.error_code, said.map(str::to_owned));
    }
    let check = match mechanism {
        Mechanism::OAuthBearer(_) => "the token is not accepted: check its issuer, audience, scope and lifetime",
        _ => "wrong username or password, or unknown to the broker for this mechanism",
    };
    call.authentication(match said {
        Some(said) => format!("{check} (the broker says: {said})"),
        None => check.to_owned(),
    })
}

/// The mechanisms that the broker tells when it does not have the one asked for.
pub(super) fn offered(answer: &SaslHandshakeResponse) -> Option<String> {
    let names: Vec<&str> = answer.mechanisms.iter().map(|name| &**name).collect();
    (answer.error_code == UNSUPPORTED_MECHANISM && !names.is_empty()).then(|| format!("it offers {}", names.join(", ")))
}

#[cfg(test)]
mod tests;
