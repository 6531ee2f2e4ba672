use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{ApiVersionsRequest, RequestHeader};
use kafka_protocol::protocol::{Encodable, Request, StrBytes};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::api::{Api, decode};
use super::call::Call;
use super::connector::Stream;
use super::frame::read_frame;
use crate::broker::BrokerError;

/// How many requests may wait to be written.
const QUEUE: usize = 64;

/// One connection to one broker. Requests are pipelined: any number may be under way, told apart by correlation id.
pub(super) struct Connection {
    client_id: StrBytes,
    outgoing: mpsc::Sender<Bytes>,
    pending: Arc<Pending>,
    next_id: AtomicI32,
    /// By API key: the lowest and the highest version that the broker speaks.
    versions: HashMap<i16, (i16, i16)>,
}

impl Connection {
    /// Starts to speak over `stream`: spawns the task that reads and writes, and asks which versions the broker speaks.
    pub(super) async fn open(
        stream: Box<dyn Stream>,
        client_id: &str,
        max_response_bytes: usize,
        call: &Call,
    ) -> Result<Self, BrokerError> {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let pending = Arc::new(Pending::default());
        tokio::spawn(serve(stream, queue, Arc::clone(&pending), max_response_bytes));
        let mut connection = Self {
            client_id: StrBytes::from_string(client_id.to_owned()),
            outgoing,
            pending,
            next_id: AtomicI32::new(0),
            versions: HashMap::from([(ApiVersionsRequest::KEY, (0, 0))]),
        };
        let answer = connection.call(call, |_| ApiVersionsRequest::default()).await?;
        if answer.error_code != 0 {
            return Err(call.response(answer.error_code, None));
        }
        connection.versions =
            answer.api_keys.iter().map(|api| (api.api_key, (api.min_version, api.max_version))).collect();
        Ok(connection)
    }

    /// Whether the connection can take no more requests.
    pub(super) fn is_closed(&self) -> bool {
        self.pending.lock().closed.is_some()
    }

    /// Ends the connection: what is under way fails with this cause.
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
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let request = self.encode(call, id, version, request)?;
        let answer = self.pending.expect(id).map_err(|cause| call.connection(cause))?;
        let exchange = async {
            // A failed send means that the task ended, which fails the answer with the reason.
            let _ = self.outgoing.send(request).await;
            answer.await
        };
        match call.bound(exchange).await {
            Ok(Ok(Ok(frame))) => decode::<R>(frame, version).map_err(|cause| call.malformed(cause)),
            Ok(Ok(Err(cause))) => Err(call.connection(cause)),
            Ok(Err(_)) => Err(call.connection("closed")),
            Err(timeout) => {
                // The broker hangs, or the answers are out of step: this connection is not to be used again.
                self.pending.close("no answer in time");
                Err(timeout)
            }
        }
    }

    /// The highest version that both sides speak.
    pub(super) fn version<R: Api>(&self, call: &Call) -> Result<i16, BrokerError> {
        let (min, max) = self.versions.get(&R::KEY).copied().unwrap_or((0, -1));
        let version = max.min(R::SPOKEN.max);
        if version < min.max(R::SPOKEN.min) {
            return Err(BrokerError::Unsupported {
                doing: call.doing().to_owned(),
                remedy: format!(
                    "the broker speaks versions {min} to {max} of {}, this client {} to {}; use a broker that has one of these",
                    R::NAME,
                    R::SPOKEN.min,
                    R::SPOKEN.max
                ),
            });
        }
        Ok(version)
    }

    fn encode<R: Api>(&self, call: &Call, id: i32, version: i16, request: &R) -> Result<Bytes, BrokerError> {
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(id)
            .with_client_id(Some(self.client_id.clone()));
        let mut frame = BytesMut::zeroed(4);
        header
            .encode(&mut frame, R::header_version(version))
            .and_then(|()| request.encode(&mut frame, version))
            .map_err(|error| call.malformed(format!("{} request cannot be encoded: {error}", R::NAME)))?;
        let length = u32::try_from(frame.len() - 4).map_err(|error| call.malformed(error))?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        Ok(frame.freeze())
    }
}

type Answer = Result<Bytes, String>;

/// The answers that are waited for.
#[derive(Default)]
struct Pending {
    state: Mutex<Waiting>,
    ended: tokio::sync::Notify,
}

#[derive(Default)]
struct Waiting {
    answers: HashMap<i32, oneshot::Sender<Answer>>,
    /// Why the connection ended, once it did.
    closed: Option<String>,
}

impl Pending {
    fn expect(&self, id: i32) -> Result<oneshot::Receiver<Answer>, String> {
        let mut waiting = self.lock();
        if let Some(cause) = &waiting.closed {
            return Err(cause.clone());
        }
        let (sender, receiver) = oneshot::channel();
        waiting.answers.insert(id, sender);
        Ok(receiver)
    }

    fn deliver(&self, frame: Bytes) -> Result<(), String> {
        let id = frame.as_ref().try_get_i32().map_err(|_| "answer without a correlation id".to_owned())?;
        let sender = self.lock().answers.remove(&id).ok_or_else(|| format!("answer to no request ({id})"))?;
        // Nobody waits any more where the caller was dropped.
        let _ = sender.send(Ok(frame));
        Ok(())
    }

    fn close(&self, cause: &str) {
        let mut waiting = self.lock();
        waiting.closed.get_or_insert_with(|| cause.to_owned());
        for (_, sender) in waiting.answers.drain() {
            let _ = sender.send(Err(cause.to_owned()));
        }
        drop(waiting);
        self.ended.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Held for short, consistent changes only.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves requests out and answers in until the connection fails, ends, or is given up by its last user.
async fn serve(stream: Box<dyn Stream>, queue: mpsc::Receiver<Bytes>, pending: Arc<Pending>, limit: usize) {
    let (reader, writer) = tokio::io::split(stream);
    let cause = tokio::select! {
        cause = receive(reader, &pending, limit) => cause,
        result = send(writer, queue) => match result {
            Ok(()) => "closed by this client".to_owned(),
            Err(error) => error.to_string(),
        },
        () = pending.ended.notified() => "given up".to_owned(),
    };
    pending.close(&cause);
}

async fn receive(mut reader: impl AsyncRead + Unpin, pending: &Pending, limit: usize) -> String {
    loop {
        match read_frame(&mut reader, limit).await {
            Ok(Some(frame)) => {
                if let Err(cause) = pending.deliver(frame) {
                    return cause;
                }
            }
            Ok(None) => return "closed by the broker".to_owned(),
            Err(error) => return error.to_string(),
        }
    }
}

async fn send(mut writer: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Bytes>) -> io::Result<()> {
    while let Some(request) = queue.recv().await {
        writer.write_all(&request).await?;
        writer.flush().await?;
    }
    writer.shutdown().await
}

#[cfg(test)]
mod tests;
