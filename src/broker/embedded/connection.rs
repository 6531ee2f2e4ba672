//! One connection: frames in, answers out, in their order.

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::protocol::StrBytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::oneshot;

use super::core::{ConnectionId, Input, Outcome};
use super::request::Request;
use super::server::Shared;

/// How much a connection reads ahead while its request is served.
const READ_AHEAD: usize = 64 << 10;
/// How much room is made for reading at a time.
const READ_ROOM: usize = 16 << 10;
/// Tells the core of the end of a connection, however it ends.
struct Farewell {
    shared: Arc<Shared>,
    id: ConnectionId,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        self.shared.forget(self.id);
    }
}

/// Serves one connection: reads a request, has it served, writes the answer, and only then looks at the next.
/// `host` is what the client's address is told to be.
pub(super) async fn converse<S: AsyncRead + AsyncWrite + Unpin>(shared: Arc<Shared>, mut stream: S, host: String) {
    let host = StrBytes::from_string(host);
    let id = shared.new_connection();
    let _farewell = Farewell { shared: Arc::clone(&shared), id };
    let mut buffer = BytesMut::new();
    while let Some(frame) = read_frame(&mut stream, &mut buffer, shared.max_request_bytes).await {
        let mut request = match Request::decode(frame) {
            Ok(request) => request,
            Err(error) => {
                tracing::debug!(%error, "embedded broker closes a connection");
                return;
            }
        };
        request.client.host = host.clone();
        let (asked, mut outcome) = oneshot::channel();
        shared.step(Input::Request(id, Box::new(request)), Some((id, asked)));
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut outcome => break outcome,
                // A client that gives up while its fetch is parked should not be kept for as long as that.
                more = read_more(&mut stream, &mut buffer), if buffer.len() < READ_AHEAD => {
                    if !more {
                        return;
                    }
                }
            }
        };
        let Ok(outcome) = outcome else { return };
        if !act(&mut stream, outcome).await {
            return;
        }
    }
}

/// Does what becomes of a request; false where the connection ends with it.
async fn act(stream: &mut (impl AsyncWrite + Unpin), mut outcome: Outcome) -> bool {
    loop {
        outcome = match outcome {
            Outcome::Silence => return true,
            Outcome::Close => return false,
            Outcome::Reply(answer) => return write(stream, &answer).await,
            Outcome::Last(bytes) => {
                write(stream, &bytes).await;
                return false;
            }
            Outcome::Torn(bytes, pause, rest) => {
                if !write(stream, &bytes).await {
                    return false;
                }
                tokio::time::sleep(pause).await;
                *rest
            }
        };
    }
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> bool {
    stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok()
}

/// The next frame without its length; `None` at the end of the stream, and where it announces more than `largest`
/// bytes. Room is made as bytes arrive, not as they are announced.
async fn read_frame(stream: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut, largest: usize) -> Option<Bytes> {
    loop {
        if let Some(announced) = buffer.first_chunk() {
            let announced = i32::from_be_bytes(*announced);
            let length = usize::try_from(announced).ok().filter(|length| *length <= largest);
            let Some(length) = length else {
                tracing::debug!(announced, largest, "embedded broker closes a connection: frame too large");
                return None;
            };
            if buffer.len() >= 4 + length {
                buffer.advance(4);
                return Some(buffer.split_to(length).freeze());
            }
        }
        if !read_more(stream, buffer).await {
            return None;
        }
    }
}

/// Reads what there is; false at the end of the stream.
async fn read_more(stream: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut) -> bool {
    if buffer.capacity() == buffer.len() {
        buffer.reserve(READ_ROOM);
    }
    stream.read_buf(buffer).await.is_ok_and(|bytes| bytes > 0)
}
