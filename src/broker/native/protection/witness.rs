use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::broker::native::connector::Stream;

/// What was seen of a stream, to explain afterwards why nothing could be said over it.
#[derive(Default)]
pub(super) struct Seen {
    /// The first bytes that arrived.
    pub(super) first: Vec<u8>,
    /// Why reading failed.
    pub(super) failure: Option<io::Error>,
}

/// As many bytes as tell a TLS record from an answer.
const FIRST: usize = 2;

/// Hands out what a stream saw.
#[derive(Clone, Default)]
pub(super) struct Witness(Arc<Mutex<Seen>>);

impl Witness {
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        // Held for short, consistent changes only.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same stream, watched.
    pub(super) fn watch(&self, stream: Box<dyn Stream>) -> Box<dyn Stream> {
        Box::new(Watched { stream, witness: self.clone(), greeted: false })
    }
}

pin_project! {
    struct Watched {
        #[pin]
        stream: Box<dyn Stream>,
        witness: Witness,
        // Whether the first bytes have arrived.
        greeted: bool,
    }
}

impl AsyncRead for Watched {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.project();
        let before = buffer.filled().len();
        match this.stream.poll_read(cx, buffer) {
            Poll::Ready(Ok(())) if !*this.greeted => {
                let mut seen = this.witness.seen();
                let missing = FIRST - seen.first.len();
                seen.first.extend(buffer.filled()[before..].iter().take(missing));
                *this.greeted = seen.first.len() == FIRST;
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => {
                // The error itself is kept here; whoever reads needs no more than its text.
                let shown = io::Error::new(error.kind(), error.to_string());
                this.witness.seen().failure = Some(error);
                Poll::Ready(Err(shown))
            }
            other => other,
        }
    }
}

impl AsyncWrite for Watched {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.project().stream.poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().stream.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().stream.poll_shutdown(cx)
    }
}
