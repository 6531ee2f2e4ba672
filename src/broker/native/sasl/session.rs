use std::time::Duration;

use tokio::sync::{RwLock, RwLockReadGuard};
use tokio::time::Instant;

use super::authenticate;
use crate::broker::BrokerError;
use crate::broker::native::call::Call;
use crate::broker::native::connection::Connection;
use crate::broker::security::Sasl;

/// A connection's session: who it is authenticated as, and until when.
///
/// Brokers that limit sessions close a connection which sends anything past its session's end. So a request that comes
/// in the last tenth of a session authenticates first, on the same connection; the others wait meanwhile, since between
/// the messages of SASL nothing else may be sent.
pub(in crate::broker::native) struct Session {
    sasl: Sasl,
    /// When to authenticate again. Held for reading while a request is handed to the connection.
    renew: RwLock<Option<Instant>>,
}

/// A request may be handed to the connection while this is held.
pub(in crate::broker::native) type Turn<'a> = RwLockReadGuard<'a, Option<Instant>>;

impl Session {
    /// Authenticates for the first time.
    pub(in crate::broker::native) async fn begin(
        connection: &Connection,
        sasl: &Sasl,
        call: &Call,
    ) -> Result<Self, BrokerError> {
        let lifetime = authenticate(connection, sasl, call).await?;
        Ok(Self { sasl: sasl.clone(), renew: RwLock::new(renewal(lifetime)) })
    }

    /// Waits until a request may be sent.
    pub(in crate::broker::native) async fn turn(
        &self,
        connection: &Connection,
        call: &Call,
    ) -> Result<Turn<'_>, BrokerError> {
        call.bound(async {
            loop {
                let turn = self.renew.read().await;
                if !is_due(*turn) {
                    return Ok(turn);
                }
                drop(turn);
                let mut renew = self.renew.write().await;
                if is_due(*renew) {
                    let unfinished = CloseUnlessDone { connection, done: false };
                    let call = call.part(format!("authenticating again before {}", call.doing()));
                    *renew = renewal(authenticate(connection, &self.sasl, &call).await?);
                    unfinished.done();
                }
            }
        })
        .await?
    }
}

/// Closes the connection if authentication fails, or is dropped between its messages: nothing else may follow them.
struct CloseUnlessDone<'a> {
    connection: &'a Connection,
    done: bool,
}

impl CloseUnlessDone<'_> {
    fn done(mut self) {
        self.done = true;
    }
}

impl Drop for CloseUnlessDone<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.connection.close("it could not authenticate again before its session ended");
        }
    }
}

fn is_due(renew: Option<Instant>) -> bool {
    renew.is_some_and(|at| Instant::now() >= at)
}

/// After nine tenths of the session, some earlier, so that not all connections authenticate at the same time. Brokers
/// take a second authentication within one second for a mistake.
fn renewal(lifetime: Option<Duration>) -> Option<Instant> {
    lifetime.map(|lifetime| {
        let after = lifetime.mul_f64(rand::random_range(0.8..0.9));
        Instant::now() + after.max(Duration::from_millis(1_100))
    })
}
