use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

/// Where partition actors and user code run, apart from the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// On this many one-thread runtimes. A handler that blocks its thread delays only the partitions of its lane.
    /// Control actors, broker connections, commits and timers run on a runtime of their own.
    Lanes(usize),
    /// Everything on the caller's runtime: nothing is isolated from a blocking handler. For tests in paused time.
    Inline,
}

impl Default for Isolation {
    /// As many lanes as the machine has cores.
    fn default() -> Self {
        Self::Lanes(std::thread::available_parallelism().map_or(1, usize::from))
    }
}

/// The runtimes of one consumer. Cheap to clone; the last clone ends the runtimes without waiting for blocked threads.
#[derive(Clone)]
pub(crate) struct Planes {
    inner: Arc<Inner>,
}

struct Inner {
    control: Handle,
    lanes: Vec<Handle>,
    /// The caller's runtime, on which users' shared pools may live.
    shared: Handle,
    next: AtomicUsize,
    owned: Mutex<Option<Owned>>,
}

struct Owned {
    control: Runtime,
    /// Dropping a sender ends its lane's thread, once that thread is not blocked.
    _lanes: Vec<oneshot::Sender<()>>,
}

impl Planes {
    /// Makes the runtimes. Must be called on a tokio runtime, which becomes the shared one.
    pub(crate) fn new(isolation: Isolation) -> std::io::Result<Self> {
        let shared = Handle::current();
        let inner = match isolation {
            Isolation::Inline => Inner {
                control: shared.clone(),
                lanes: vec![shared.clone()],
                shared,
                next: AtomicUsize::new(0),
                owned: Mutex::new(None),
            },
            Isolation::Lanes(count) => {
                let control =
                    Builder::new_multi_thread().worker_threads(2).thread_name("bezoar-control").enable_all().build()?;
                let (lanes, stops) =
                    (0..count).map(start_lane).collect::<std::io::Result<Vec<_>>>()?.into_iter().unzip();
                Inner {
                    control: control.handle().clone(),
                    lanes,
                    shared,
                    next: AtomicUsize::new(0),
                    owned: Mutex::new(Some(Owned { control, _lanes: stops })),
                }
            }
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The control plane's runtime.
    pub(crate) fn control(&self) -> &Handle {
        &self.inner.control
    }

    /// The caller's runtime.
    pub(crate) fn shared(&self) -> &Handle {
        &self.inner.shared
    }

    /// All lanes.
    pub(crate) fn lanes(&self) -> &[Handle] {
        &self.inner.lanes
    }

    /// The number of the lane for the next partition, in turn.
    pub(crate) fn next_lane(&self) -> usize {
        self.inner.next.fetch_add(1, Ordering::Relaxed) % self.inner.lanes.len()
    }
}

/// One lane: a thread with a runtime of its own, which ends when the sender is dropped.
fn start_lane(index: usize) -> std::io::Result<(Handle, oneshot::Sender<()>)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel::<()>();
    std::thread::Builder::new().name(format!("bezoar-lane-{index}")).spawn(move || {
        let _ = runtime.block_on(stopped);
        // Threads of `spawn_blocking` may be blocked for ever; nothing waits for them.
        runtime.shutdown_background();
    })?;
    Ok((handle, stop))
}

impl Drop for Inner {
    fn drop(&mut self) {
        // `shutdown_background`, since the last clone may be dropped on a runtime's own thread.
        if let Some(owned) = self.owned.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            owned.control.shutdown_background();
        }
    }
}
