use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::broker::BoxFuture;

/// A stream of bytes to a broker and back.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// Opens streams to brokers.
pub trait Connector: Send + Sync + 'static {
    /// Opens a stream to `address` (`host:port`). The caller bounds the time it takes.
    fn open(&self, address: String) -> BoxFuture<io::Result<Box<dyn Stream>>>;
}

/// Plain TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp;

impl Connector for Tcp {
    fn open(&self, address: String) -> BoxFuture<io::Result<Box<dyn Stream>>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            // Requests are written whole; waiting for more to send would only delay them.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}
