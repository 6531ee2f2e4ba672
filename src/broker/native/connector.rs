use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::sleep;

use crate::broker::BoxFuture;

/// A stream of bytes to a broker and back.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// Opens streams to brokers.
pub trait Connector: Send + Sync + 'static {
    /// Opens a stream to `address` (`host:port`, an IPv6 host in brackets). The caller bounds the time it takes. An error
    /// that wraps a [`BrokerError`](crate::broker::BrokerError) is passed on as that.
    fn open(&self, address: String) -> BoxFuture<io::Result<Box<dyn Stream>>>;
}

/// Plain TCP. Names are resolved anew for each connection; where one has several addresses, each is tried, the next
/// one 250 ms after the last, and the first that answers is used.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp;

/// How long one of several addresses is waited for before the next is tried beside it (RFC 8305).
const HEAD_START: Duration = Duration::from_millis(250);

impl Connector for Tcp {
    fn open(&self, address: String) -> BoxFuture<io::Result<Box<dyn Stream>>> {
        Box::pin(async move {
            if !has_port(&address) {
                let expected = "the address is not host:port (an IPv6 host in brackets: [::1]:9092)";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, expected));
            }
            let resolved = lookup_host(&address).await;
            let resolved = resolved
                .map_err(|error| io::Error::new(error.kind(), format!("the name cannot be resolved: {error}")))?;
            let stream = first(alternating(resolved.collect()), HEAD_START, TcpStream::connect).await?;
            // Requests are written whole; waiting for more to send would only delay them.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}

fn has_port(address: &str) -> bool {
    address.rsplit_once(':').is_some_and(|(host, port)| {
        let bare = !host.contains(':') || (host.starts_with('[') && host.ends_with(']'));
        !host.is_empty() && bare && port.parse::<u16>().is_ok()
    })
}

/// IPv6 and IPv4 addresses in turn, beginning with the kind that comes first: where one of the two leads nowhere, the
/// other is not far.
fn alternating(resolved: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = resolved.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = resolved.into_iter().partition(|one| one.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut addresses = Vec::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] {
            return addresses;
        }
        addresses.extend(pair.into_iter().flatten());
    }
}

/// The first of the attempts to succeed. Each begins when those before it have failed, or had `head_start`.
async fn first<T, F>(
    addresses: Vec<SocketAddr>,
    head_start: Duration,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let several = addresses.len() > 1;
    let mut waiting = addresses.into_iter();
    let mut trying = FuturesUnordered::new();
    let mut failed: Option<io::Error> = None;
    let mut causes = Vec::new();
    loop {
        if let Some(address) = waiting.next() {
            let attempt = connect(address);
            trying.push(async move { (address, attempt.await) });
        }
        let next = tokio::select! {
            biased;
            next = trying.next() => next,
            () = sleep(head_start), if waiting.len() > 0 => continue,
        };
        match next {
            Some((_, Ok(stream))) => return Ok(stream),
            Some((address, Err(error))) => {
                causes.push(format!("{address}: {error}"));
                failed.get_or_insert(error);
            }
            None => {
                return Err(match failed {
                    // One address needs no list.
                    Some(error) if !several => error,
                    Some(error) => io::Error::new(error.kind(), causes.join(", ")),
                    None => io::Error::new(io::ErrorKind::NotFound, "the name has no addresses"),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests;
