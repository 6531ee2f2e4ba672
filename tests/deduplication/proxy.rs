//! Between a client and PostgreSQL: passes everything on, and cuts the connection when a message comes that it waits for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    cuts: Arc<AtomicU32>,
    task: AbortHandle,
}

impl Proxy {
    /// Passes connections to `address` on to `server`.
    pub(crate) async fn at(address: SocketAddr, server: SocketAddr) -> Self {
        Self::new(TcpListener::bind(address).await.unwrap(), server, "", 0)
    }

    /// Passes connections on to `server`. The next `cuts` requests with the text `at` are passed on too, but the server's answers
    /// are not, from then on, and the client's connection ends.
    pub(crate) async fn to(server: SocketAddr, at: &'static str, cuts: u32) -> Self {
        Self::new(TcpListener::bind("127.0.0.1:0").await.unwrap(), server, at, cuts)
    }

    fn new(listener: TcpListener, server: SocketAddr, at: &'static str, cuts: u32) -> Self {
        let address = listener.local_addr().unwrap();
        let cuts = Arc::new(AtomicU32::new(cuts));
        let left = Arc::clone(&cuts);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(server).await.unwrap();
                tokio::spawn(pass(client, server, at, Arc::clone(&left)));
            }
        });
        Self { address, cuts, task: task.abort_handle() }
    }

    /// How many cuts are still to be made.
    pub(crate) fn cuts_left(&self) -> u32 {
        self.cuts.load(Ordering::Acquire)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(client: TcpStream, server: TcpStream, at: &str, cuts: Arc<AtomicU32>) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let answers = tokio::spawn(copy(from_server, to_client));
    requests(from_client, to_server, at, &cuts, &answers.abort_handle()).await;
    answers.abort();
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, at: &str, cuts: &AtomicU32, answers: &AbortHandle) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let found = !at.is_empty() && bytes[..read].windows(at.len()).any(|window| window == at.as_bytes());
        let cut = found && cuts.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok();
        if cut {
            // First, so that no answer can slip through.
            answers.abort();
        }
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
        if cut {
            // The server works on it before it sees the end of the connection, which comes behind it.
            let _ = to.shutdown().await;
            return;
        }
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let _ = tokio::io::copy(&mut from, &mut to).await;
}
