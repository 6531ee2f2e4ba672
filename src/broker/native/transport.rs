use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::connector::Stream;
use super::frame::read_frame;
use super::pending::Pending;

/// A request to be written, length prefix included.
pub(super) struct Outgoing {
    /// Its correlation id.
    pub(super) id: i32,
    /// Its bytes.
    pub(super) frame: Bytes,
}

/// Moves requests out and answers in until the connection fails, ends, or is given up by its last user.
pub(super) async fn serve(
    stream: Box<dyn Stream>,
    queue: mpsc::Receiver<Outgoing>,
    pending: Arc<Pending>,
    max_response_bytes: usize,
) {
    let (reader, writer) = tokio::io::split(stream);
    let cause = tokio::select! {
        cause = receive(reader, &pending, max_response_bytes) => cause,
        result = send(writer, queue, &pending) => match result {
            Ok(()) => "closed by this client".to_owned(),
            Err(error) => error.to_string(),
        },
        () = pending.ended() => "given up".to_owned(),
    };
    pending.close(&cause);
}

async fn receive(mut reader: impl AsyncRead + Unpin, pending: &Pending, max_response_bytes: usize) -> String {
    loop {
        match read_frame(&mut reader, max_response_bytes).await {
            Ok(Some(frame)) => {
                if let Err(cause) = pending.deliver(frame) {
                    return cause;
                }
            }
            Ok(None) => return "closed by the broker".to_owned(),
            Err(error) => {
                if error.kind() == io::ErrorKind::FileTooLarge {
                    pending.note_too_large();
                }
                return error.to_string();
            }
        }
    }
}

async fn send(
    mut writer: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<Outgoing>,
    pending: &Pending,
) -> io::Result<()> {
    while let Some(Outgoing { id, frame }) = queue.recv().await {
        while let Some(until) = pending.muted_until() {
            sleep_until(until).await;
        }
        if pending.sending(id) {
            writer.write_all(&frame).await?;
            writer.flush().await?;
        }
    }
    writer.shutdown().await
}
