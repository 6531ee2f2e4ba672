//! The I/O around the core: a listener, a timer, and a task per connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::core::{ConnectionId, Core, Effects, Input, Now, Outcome};
use super::request::Request;

/// How much a connection reads ahead while its request is served.
const READ_AHEAD: usize = 64 << 10;
/// How much is kept in either direction of an in-memory pipe.
const PIPE_BYTES: usize = 64 << 10;

/// The running server: its task ends with it.
#[derive(Debug)]
pub(super) struct Server {
    shared: Arc<Shared>,
    pipes: mpsc::UnboundedSender<DuplexStream>,
    close_all: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The tasks of connections belong to the task, and end with it.
        self.task.abort();
    }
}

impl Server {
    /// Serves `listener` on the runtime of the caller.
    pub(super) fn start(core: Core, listener: TcpListener, max_request_bytes: usize) -> Self {
        let wall_start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let shared = Arc::new(Shared {
            desk: Mutex::new(Desk { core, asked: HashMap::new(), wake_at: None, connections: 0 }),
            timer: Notify::new(),
            started: Instant::now(),
            wall_start,
            max_request_bytes,
        });
        let (pipes, piped) = mpsc::unbounded_channel();
        let close_all = Arc::new(Notify::new());
        let task = tokio::spawn(serve(Arc::clone(&shared), listener, piped, Arc::clone(&close_all)));
        Self { shared, pipes, close_all, task }
    }

    /// Opens a connection through an in-memory pipe.
    pub(super) fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        // Fails only once the server is gone; the client then sees its end of the pipe closed.
        let _ = self.pipes.send(ours);
        theirs
    }

    /// Closes every connection; new ones are taken.
    pub(super) fn close_connections(&self) {
        self.close_all.notify_one();
    }

    /// Looks at the core, or changes it; what waits for the change is answered.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Core, Now) -> T) -> T {
        self.shared.with(act)
    }

    /// Ends the server and waits for it.
    pub(super) async fn stop(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

/// What the tasks share. The lock is held for one step of the core at a time, which never waits.
#[derive(Debug)]
struct Shared {
    desk: Mutex<Desk>,
    timer: Notify,
    started: Instant,
    wall_start: Duration,
    max_request_bytes: usize,
}

#[derive(Debug)]
struct Desk {
    core: Core,
    /// Connections that wait for what becomes of their request.
    asked: HashMap<ConnectionId, oneshot::Sender<Outcome>>,
    wake_at: Option<Duration>,
    connections: u64,
}

impl Shared {
    fn now(&self) -> Now {
        let elapsed = self.started.elapsed();
        let wall = self.wall_start + elapsed;
        Now { elapsed, wall_millis: i64::try_from(wall.as_millis()).unwrap_or(i64::MAX) }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Core, Now) -> T) -> T {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        let result = act(&mut desk.core, now);
        let effects = desk.core.step(now, Input::Tick);
        self.deliver(&mut desk, effects);
        result
    }

    fn step(&self, input: Input, asked: Option<(ConnectionId, oneshot::Sender<Outcome>)>) {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.asked.extend(asked);
        let effects = desk.core.step(self.now(), input);
        self.deliver(&mut desk, effects);
    }

    fn deliver(&self, desk: &mut Desk, effects: Effects) {
        for (connection, outcome) in effects.outcomes {
            if let Some(asked) = desk.asked.remove(&connection) {
                // Fails only where the connection has just ended.
                let _ = asked.send(outcome);
            }
        }
        if desk.wake_at != effects.wake_at {
            desk.wake_at = effects.wake_at;
            self.timer.notify_one();
        }
    }

    fn new_connection(&self) -> ConnectionId {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.connections += 1;
        ConnectionId(desk.connections)
    }

    /// Waits until the core wants to be stepped.
    async fn due(&self) {
        loop {
            let wake_at = self.desk.lock().unwrap_or_else(PoisonError::into_inner).wake_at;
            let changed = self.timer.notified();
            match wake_at {
                Some(at) => tokio::select! {
                    () = tokio::time::sleep_until(self.started + at) => return,
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }
}

async fn serve(
    shared: Arc<Shared>,
    listener: TcpListener,
    mut piped: mpsc::UnboundedReceiver<DuplexStream>,
    close_all: Arc<Notify>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // Without it, small answers wait for the client's delayed acknowledgement.
                    let _ = stream.set_nodelay(true);
                    connections.spawn(converse(Arc::clone(&shared), stream));
                }
                Err(error) => {
                    // Out of descriptors, most likely; connections that end free some.
                    tracing::warn!(%error, "embedded broker cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(stream) = piped.recv() => {
                connections.spawn(converse(Arc::clone(&shared), stream));
            }
            () = shared.due() => shared.step(Input::Tick, None),
            () = close_all.notified() => connections.abort_all(),
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Tells the core of the end of a connection, however it ends.
struct Farewell {
    shared: Arc<Shared>,
    id: ConnectionId,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        self.shared.step(Input::Closed(self.id), None);
        let mut desk = self.shared.desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.asked.remove(&self.id);
    }
}

/// Serves one connection: reads a request, has it served, writes the answer, and only then looks at the next.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(shared: Arc<Shared>, mut stream: S) {
    let id = shared.new_connection();
    let _farewell = Farewell { shared: Arc::clone(&shared), id };
    let mut buffer = BytesMut::new();
    while let Some(frame) = read_frame(&mut stream, &mut buffer, shared.max_request_bytes).await {
        let request = match Request::decode(frame) {
            Ok(request) => request,
            Err(error) => {
                tracing::debug!(%error, "embedded broker closes a connection");
                return;
            }
        };
        let (asked, mut outcome) = oneshot::channel();
        shared.step(Input::Request(id, Box::new(request)), Some((id, asked)));
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut outcome => break outcome,
                // A client that gives up while its fetch is parked should not be kept for as long as that.
                read = stream.read_buf(&mut buffer), if buffer.len() < READ_AHEAD => {
                    if !read.is_ok_and(|bytes| bytes > 0) {
                        return;
                    }
                }
            }
        };
        match outcome {
            Ok(Outcome::Reply(answer)) => {
                if stream.write_all(&answer).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
            }
            Ok(Outcome::Silence) => {}
            Ok(Outcome::Close) | Err(_) => return,
        }
    }
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
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}
