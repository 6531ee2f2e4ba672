use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::RequestHeader;
use kafka_protocol::protocol::{Encodable, StrBytes};
use tokio::sync::mpsc;

use super::api::{Api, decode};
use super::call::Call;
use super::connector::Stream;
use super::pending::Pending;
use super::sasl::{Session, Turn};
use super::transport::{Outgoing, serve};
use super::versions::{Greeting, Versions, greeting, question};
use crate::broker::security::Sasl;
use crate::broker::{BrokerError, ConnectionSettings};

/// How many requests may wait to be written.
const QUEUE: usize = 64;
/// The longest time that a broker may tell us to send nothing; quotas are windows of some seconds.
const MAX_THROTTLE: Duration = Duration::from_secs(60);

/// One connection to one broker. Requests are pipelined: any number may be under way, told apart by correlation id.
pub(super) struct Connection {
    client_id: StrBytes,
    max_request_bytes: usize,
    outgoing: mpsc::Sender<Outgoing>,
    pending: Arc<Pending>,
    next_id: AtomicI32,
    versions: Versions,
    /// Who this connection is authenticated as; `None` without SASL.
    session: Option<Session>,
}

impl Connection {
    /// Starts to speak over `stream`: spawns the task that reads and writes, and asks which versions the broker speaks.
    pub(super) async fn open(
        stream: Box<dyn Stream>,
        settings: &ConnectionSettings,
        call: &Call,
    ) -> Result<Self, BrokerError> {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let pending = Arc::new(Pending::default());
        tokio::spawn(serve(stream, queue, Arc::clone(&pending), settings.max_response_bytes));
        let mut connection = Self {
            client_id: StrBytes::from_string(settings.client_id.clone()),
            max_request_bytes: settings.max_request_bytes,
            outgoing,
            pending,
            next_id: AtomicI32::new(0),
            versions: Versions::default(),
            session: None,
        };
        connection.versions = connection.ask_versions(call).await?;
        Ok(connection)
    }

    /// Authenticates, and does so again whenever the session is about to end.
    pub(super) async fn authenticate(&mut self, sasl: &Sasl, call: &Call) -> Result<(), BrokerError> {
        self.session = Some(Session::begin(self, sasl, call).await?);
        Ok(())
    }

    /// Whether the connection can take no more requests.
    pub(super) fn is_closed(&self) -> bool {
        self.pending.is_closed()
    }

    /// Whether it ended because an answer was larger than is accepted.
    pub(super) fn met_too_large(&self) -> bool {
        self.pending.met_too_large()
    }

    /// Orders connections by how soon one may expect an answer.
    pub(super) fn load(&self) -> (bool, usize) {
        self.pending.load()
    }

    /// Ends the connection; what is under way fails with `cause`.
    pub(super) fn close(&self, cause: &str) {
        self.pending.close(cause);
    }

    /// Sends the request that `build` makes for the version agreed on, and waits for its answer.
    pub(super) async fn call<R: Api>(
        &self,
        call: &Call,
        build: impl FnOnce(i16) -> R,
    ) -> Result<R::Response, BrokerError> {
        let version = self.version::<R>(call)?;
        self.call_version(call, version, &build(version)).await
    }

    /// Sends a request of a version that both sides speak, and waits for its answer.
    pub(super) async fn call_version<R: Api>(
        &self,
        call: &Call,
        version: i16,
        request: &R,
    ) -> Result<R::Response, BrokerError> {
        let turn = match &self.session {
            Some(session) => Some(session.turn(self, call).await?),
            None => None,
        };
        self.ask(call, version, request, turn).await
    }

    /// Sends a request of those that authenticate, which wait for no session.
    pub(super) async fn call_outside_session<R: Api>(
        &self,
        call: &Call,
        request: &R,
    ) -> Result<R::Response, BrokerError> {
        let version = self.version::<R>(call)?;
        self.ask(call, version, request, None).await
    }

    async fn ask<R: Api>(
        &self,
        call: &Call,
        version: i16,
        request: &R,
        turn: Option<Turn<'_>>,
    ) -> Result<R::Response, BrokerError> {
        let frame = self.exchange(call, version, request, turn).await?;
        let answer = decode::<R>(frame, version).map_err(|cause| call.malformed(cause))?;
        self.throttle(R::throttle(&answer));
        Ok(answer)
    }

    /// The version of an API that [`call`](Self::call) will speak: the highest that both sides do.
    pub(super) fn version<R: Api>(&self, call: &Call) -> Result<i16, BrokerError> {
        let unsupported = |remedy| BrokerError::Unsupported { doing: call.doing().to_owned(), remedy };
        self.versions.agree::<R>().map_err(unsupported)
    }

    async fn ask_versions(&self, call: &Call) -> Result<Versions, BrokerError> {
        let mut version = <kafka_protocol::messages::ApiVersionsRequest as Api>::SPOKEN.max;
        loop {
            let frame = self.exchange(call, version, &question(version), None).await?;
            match greeting(frame, version).map_err(|cause| call.malformed(cause))? {
                Greeting::Speaks(versions) => return Ok(versions),
                // Lower each time.
                Greeting::AskIn(older) => version = older,
                Greeting::Refused(code) => return Err(call.response(code, None)),
            }
        }
    }

    /// Sends one request and waits for the frame of its answer. The turn is over once it is handed over.
    async fn exchange<R: Api>(
        &self,
        call: &Call,
        version: i16,
        request: &R,
        turn: Option<Turn<'_>>,
    ) -> Result<Bytes, BrokerError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let frame = self.encode(call, id, version, request)?;
        let answer = self.pending.expect(id).map_err(|cause| call.connection(cause))?;
        let exchange = async {
            // A failed send means that the task ended, which fails the answer with the reason.
            let _ = self.outgoing.send(Outgoing { id, frame }).await;
            drop(turn);
            answer.await
        };
        match call.bound(exchange).await {
            Ok(Ok(Ok(frame))) => Ok(frame),
            Ok(Ok(Err(cause))) => Err(call.connection(cause)),
            Ok(Err(_)) => Err(call.connection("closed")),
            Err(timeout) => {
                // What the broker's throttling kept back was not sent and is not late. Otherwise the broker hangs, or the
                // answers are out of step: this connection is not to be used again.
                if !self.pending.take_back(id) {
                    self.pending.close("no answer in time");
                }
                Err(timeout)
            }
        }
    }

    fn encode<R: Api>(&self, call: &Call, id: i32, version: i16, request: &R) -> Result<Bytes, BrokerError> {
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(id)
            .with_client_id(Some(self.client_id.clone()));
        let mut frame = BytesMut::zeroed(4);
        // A request may hold megabytes of records, which would be copied each time the frame grows.
        request
            .compute_size(version)
            .and_then(|size| {
                frame.reserve(header.compute_size(R::header_version(version))? + size);
                header.encode(&mut frame, R::header_version(version))
            })
            .and_then(|()| request.encode(&mut frame, version))
            .map_err(|error| call.malformed(format!("{} request cannot be encoded: {error}", R::NAME)))?;
        let bytes = frame.len() - 4;
        let too_large =
            || BrokerError::RequestTooLarge { doing: call.doing().to_owned(), bytes, limit: self.max_request_bytes };
        let length = i32::try_from(bytes).ok().filter(|_| bytes <= self.max_request_bytes).ok_or_else(too_large)?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        Ok(frame.freeze())
    }

    /// Sends nothing for as long as the broker says. Brokers since 2.0 answer at once and do not read on until then,
    /// whichever version the request had.
    fn throttle(&self, millis: i32) {
        let Some(millis) = u64::try_from(millis).ok().filter(|millis| *millis > 0) else { return };
        let pause = Duration::from_millis(millis).min(MAX_THROTTLE);
        tracing::debug!(
            client_id = &*self.client_id,
            told = millis,
            ?pause,
            "throttled by the broker (quota exceeded)"
        );
        self.pending.mute(pause);
    }
}

#[cfg(test)]
mod tests;
