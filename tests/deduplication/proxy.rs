//! Between a client and PostgreSQL: passes everything on, and lets a connection fail when a message comes that it waits for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// How a connection fails.
#[derive(Clone, Copy)]
pub(crate) enum Failing {
    /// It ends.
    Ends,
    /// Nothing comes any more.
    Hangs,
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    times: Arc<AtomicU32>,
    task: AbortHandle,
}

impl Proxy {
    /// Passes connections to `address` on to `server`.
    pub(crate) async fn at(address: SocketAddr, server: SocketAddr) -> Self {
        Self::new(TcpListener::bind(address).await.unwrap(), server, ("", Failing::Ends), 0)
    }

    /// Passes connections on to `server`. The next `times` requests with the text `at` are passed on too, but from then on nothing
    /// of what the server says.
    pub(crate) async fn to(server: SocketAddr, at: &'static str, failing: Failing, times: u32) -> Self {
        Self::new(TcpListener::bind("127.0.0.1:0").await.unwrap(), server, (at, failing), times)
    }

    fn new(listener: TcpListener, server: SocketAddr, fault: (&'static str, Failing), times: u32) -> Self {
        let address = listener.local_addr().unwrap();
        let times = Arc::new(AtomicU32::new(times));
        let left = Arc::clone(&times);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(server).await.unwrap();
                tokio::spawn(pass(client, server, fault, Arc::clone(&left)));
            }
        });
        Self { address, times, task: task.abort_handle() }
    }

    /// How many connections are still to fail.
    pub(crate) fn left(&self) -> u32 {
        self.times.load(Ordering::Acquire)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(client: TcpStream, server: TcpStream, fault: (&str, Failing), times: Arc<AtomicU32>) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let silent = Arc::new(AtomicBool::new(false));
    let answers = tokio::spawn(answers(from_server, to_client, Arc::clone(&silent)));
    requests(from_client, to_server, fault, &times, &silent).await;
    // Ends the client's connection.
    answers.abort();
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    (at, failing): (&str, Failing),
    times: &AtomicU32,
    silent: &AtomicBool,
) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let found = !at.is_empty() && bytes[..read].windows(at.len()).any(|window| window == at.as_bytes());
        let fails =
            found && times.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok();
        if fails {
            // First, so that no answer can slip through.
            silent.store(true, Ordering::Release);
        }
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
        if fails && matches!(failing, Failing::Ends) {
            // The server works on it before it sees the end of the connection, which comes behind it.
            let _ = to.shutdown().await;
            return;
        }
    }
}

async fn answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, silent: Arc<AtomicBool>) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if !silent.load(Ordering::Acquire) && to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
    if silent.load(Ordering::Acquire) {
        // Not even its end is told.
        std::future::pending::<()>().await;
    }
}
