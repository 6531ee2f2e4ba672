//! The I/O around the core: a listener, a timer, and a task per connection.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::DuplexStream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::connection::converse;
use super::core::{ConnectionId, Core, Effects, Input, Now, Outcome};

/// How much is kept in either direction of an in-memory pipe.
const PIPE_BYTES: usize = 64 << 10;

/// The running server; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    shared: Arc<Shared>,
    commands: mpsc::UnboundedSender<Command>,
    task: JoinHandle<()>,
}

/// What the handle tells the server's task.
#[derive(Debug)]
enum Command {
    Connect(DuplexStream),
    CloseConnections,
    /// Stop listening and close all connections; then answer.
    GoDown(oneshot::Sender<()>),
    ComeBack(TcpListener),
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
        let (commands, commanded) = mpsc::unbounded_channel();
        let task = tokio::spawn(serve(Arc::clone(&shared), listener, commanded));
        Self { shared, commands, task }
    }

    /// Opens a connection through an in-memory pipe.
    pub(super) fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        self.tell(Command::Connect(ours));
        theirs
    }

    /// Closes every connection; new ones are taken.
    pub(super) fn close_connections(&self) {
        self.tell(Command::CloseConnections);
    }

    /// Stops listening and closes every connection.
    pub(super) async fn go_down(&self) {
        let (done, is_down) = oneshot::channel();
        self.tell(Command::GoDown(done));
        let _ = is_down.await;
    }

    /// Listens again.
    pub(super) fn come_back(&self, listener: TcpListener) {
        self.tell(Command::ComeBack(listener));
    }

    fn tell(&self, command: Command) {
        // Fails only where the runtime that the server ran on is gone, and all connections with it.
        let _ = self.commands.send(command);
    }

    /// Looks at the core, or changes it; what waits for the change is answered.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Core, Now) -> T) -> T {
        self.shared.with(act)
    }

    /// Ends the server and waits for it.
    pub(super) async fn stop(self) {
        drop(self.commands);
        let _ = self.task.await;
    }
}

/// What the tasks share. The lock is held for one step of the core at a time, which never waits.
#[derive(Debug)]
pub(super) struct Shared {
    desk: Mutex<Desk>,
    timer: Notify,
    started: Instant,
    wall_start: Duration,
    pub(super) max_request_bytes: usize,
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

    pub(super) fn step(&self, input: Input, asked: Option<(ConnectionId, oneshot::Sender<Outcome>)>) {
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

    /// Forgets a connection that has ended.
    pub(super) fn forget(&self, connection: ConnectionId) {
        self.step(Input::Closed(connection), None);
        self.desk.lock().unwrap_or_else(PoisonError::into_inner).asked.remove(&connection);
    }

    /// A name for a new connection.
    pub(super) fn new_connection(&self) -> ConnectionId {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.connections += 1;
        ConnectionId(desk.connections)
    }

    /// Waits until the core wants to be stepped.
    async fn due(&self) {
        loop {
            let wake_at = self.desk.lock().unwrap_or_else(PoisonError::into_inner).wake_at;
            let changed = self.timer.notified();
            // A time too far away to be told is never reached.
            match wake_at.and_then(|at| self.started.checked_add(at)) {
                Some(at) => tokio::select! {
                    () = tokio::time::sleep_until(at) => return,
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }
}

async fn serve(shared: Arc<Shared>, listener: TcpListener, mut commands: mpsc::UnboundedReceiver<Command>) {
    let mut listener = Some(listener);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            (stream, from) = accept(listener.as_ref()) => {
                // As Kafka writes it.
                connections.spawn(converse(Arc::clone(&shared), stream, format!("/{}", from.ip())));
            }
            command = commands.recv() => match command {
                Some(Command::Connect(stream)) if listener.is_some() => {
                    connections.spawn(converse(Arc::clone(&shared), stream, "/pipe".to_owned()));
                }
                // Dropped, the pipe tells the client what a refused connection would.
                Some(Command::Connect(_)) => {}
                Some(Command::CloseConnections) => connections.shutdown().await,
                Some(Command::GoDown(done)) => {
                    listener = None;
                    connections.shutdown().await;
                    // Fails only where nobody waits for it any more.
                    let _ = done.send(());
                }
                Some(Command::ComeBack(new)) => listener = Some(new),
                None => break,
            },
            () = shared.due() => shared.step(Input::Tick, None),
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// The next connection; waits for ever without a listener.
async fn accept(listener: Option<&TcpListener>) -> (TcpStream, SocketAddr) {
    let Some(listener) = listener else { return std::future::pending().await };
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                // Without it, small answers wait for the client's delayed acknowledgement.
                let _ = stream.set_nodelay(true);
                return (stream, from);
            }
            Err(error) => {
                // Out of descriptors, most likely; connections that end free some.
                tracing::warn!(%error, "embedded broker cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}
