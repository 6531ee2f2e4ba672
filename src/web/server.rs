use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};

use super::endpoint::Endpoint;
use super::error::ListenError;

/// The most connections at a time; others wait to be accepted.
pub const MAX_CONNECTIONS: usize = 64;
/// How long a connection may last: from being accepted until its answer is taken. Each has one answer.
pub const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may take to say what it wants.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// The most bytes of a request, its headers included.
const REQUEST_BYTES: usize = 16 * 1024;
/// How often the recorder puts away what it has gathered.
const UPKEEP: Duration = Duration::from_secs(5);
/// How long it waits after a connection could not be accepted: there may be no file descriptor left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Listens on an address, `host:port`; port 0 is any free one.
///
/// # Errors
/// Names the address.
pub async fn listen(address: &str) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|cause| ListenError { address: address.to_owned(), cause })
}

/// Answers clients until `shutdown` is ready; those whose answers are under way have what is left of their ten seconds.
pub async fn serve(listener: TcpListener, endpoint: Endpoint, shutdown: impl Future) {
    let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut upkeep = interval(UPKEEP);
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = async {
            let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return Err(None) };
            match listener.accept().await {
                Ok((stream, _)) => Ok((stream, permit)),
                Err(error) => Err(Some(error)),
            }
        };
        tokio::select! {
            _ = &mut shutdown => break,
            _ = upkeep.tick() => if let Some(prometheus) = &endpoint.prometheus { prometheus.upkeep() },
            Some(_) = connections.join_next() => {}
            accepted = accepted => match accepted {
                Ok((stream, permit)) => {
                    let endpoint = endpoint.clone();
                    connections.spawn(async move {
                        // A client that takes longer is cut off; its error is its own.
                        let _ = timeout(CONNECTION_TIMEOUT, connection(stream, &endpoint)).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::debug!(?error, "the web endpoint cannot accept a connection, trying again");
                    sleep(ACCEPT_AGAIN).await;
                }
            },
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection(stream: TcpStream, endpoint: &Endpoint) -> hyper::Result<()> {
    let answer = service_fn(|request: Request<Incoming>| async move {
        Ok::<_, Infallible>(endpoint.answer(request.method(), request.uri().path()).await)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .max_buf_size(REQUEST_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer)
        .await
}
