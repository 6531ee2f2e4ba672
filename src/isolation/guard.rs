//! The one place where user code is called and user futures are polled.
//!
//! A panic is raised and caught within one poll, on one thread. So no task-local is needed: a call under the guard
//! raises a thread-local depth; a process-wide hook, installed once, keeps its report in a thread-local while the
//! depth is above zero; and the guard takes the report right after `catch_unwind`.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::pin::Pin;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

/// What is known of a caught panic.
#[derive(Debug)]
pub(crate) struct PanicReport {
    /// The panic's message; a fixed text where the payload is not text.
    pub(crate) message: String,
    /// `file:line:column`, where the hook is installed and saw the panic.
    pub(crate) location: Option<String>,
    /// The thread's name.
    pub(crate) thread: Option<String>,
    /// Captured in the hook; symbols are resolved when it is rendered, which takes a millisecond or two.
    pub(crate) backtrace: Option<Backtrace>,
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static IN_HOOK: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<PanicReport>> = const { RefCell::new(None) };
}

static INSTALLED: AtomicBool = AtomicBool::new(false);
static WARNED: AtomicBool = AtomicBool::new(false);

/// Installs the process-wide hook that records where guarded code panics; panics elsewhere go to the hook before it.
/// Only the first call has an effect. With `echo`, guarded panics go to the hook before it as well.
pub(crate) fn install_hook(echo: bool) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        INSTALLED.store(true, Ordering::Relaxed);
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let guarded = record(info);
            if !guarded || echo {
                previous(info);
            }
        }));
    });
}

/// Keeps a report if the panic happens under the guard. `try_with`, since the thread-locals of a dying thread may be
/// gone, and a panic in here would abort.
fn record(info: &PanicHookInfo<'_>) -> bool {
    let guarded = DEPTH.try_with(|depth| depth.get() > 0).unwrap_or(false);
    if !guarded || IN_HOOK.try_with(|flag| flag.replace(true)).unwrap_or(true) {
        return false;
    }
    let report = PanicReport {
        message: message_of(info.payload()),
        location: info.location().map(ToString::to_string),
        thread: std::thread::current().name().map(str::to_owned),
        backtrace: Some(Backtrace::force_capture()),
    };
    // Ignored: where the thread-local is gone or borrowed, the message alone is reported.
    let _ = LAST.try_with(|last| last.try_borrow_mut().map(|mut last| *last = Some(report)));
    let _ = IN_HOOK.try_with(|flag| flag.set(false));
    true
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "panic with a payload that is not text".to_owned()
    }
}

struct Depth;

impl Depth {
    fn enter() -> Self {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

/// Calls user code; a panic becomes a report.
///
/// The report is boxed: results travel through every delivery, reports through few.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, Box<PanicReport>> {
    let _depth = Depth::enter();
    catch_unwind(AssertUnwindSafe(call)).map_err(report_of)
}

/// The report of a panic from its payload: one carried on by [`resume`], the hook's, or the message alone.
#[cold]
fn report_of(payload: Box<dyn Any + Send>) -> Box<PanicReport> {
    // Taken before the payload is dropped, since its destructor may panic too and overwrite it.
    let last = LAST.with(|last| last.borrow_mut().take());
    let payload = match payload.downcast::<PanicReport>() {
        Ok(report) => return report,
        Err(payload) => payload,
    };
    let message = message_of(&*payload);
    if let Err(second) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        std::mem::forget(second);
    }
    // A report with another message is stale (user code caught that panic itself) or the hook was replaced.
    match last {
        Some(report) if report.message == message => Box::new(report),
        last => {
            if last.is_none() && INSTALLED.load(Ordering::Relaxed) && !WARNED.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "a panic passed the hook by (another hook took its place, or it was resumed): its place is unknown"
                );
            }
            Box::new(PanicReport { message, location: None, thread: None, backtrace: None })
        }
    }
}

/// Carries a panic caught elsewhere (in a user's actor) on into the guard around the caller.
pub(crate) fn resume(report: Box<PanicReport>) -> ! {
    std::panic::resume_unwind(report)
}

pin_project! {
    /// A user's future under the guard. The future is dropped, contained, before this resolves.
    pub(crate) struct Guarded<F> {
        #[pin]
        inner: Option<F>,
    }

    impl<F> PinnedDrop for Guarded<F> {
        /// Dropped while pending (timeout, killed actor): the user's destructors run here and may panic.
        fn drop(this: Pin<&mut Self>) {
            let mut inner = this.project().inner;
            if inner.is_some() && !std::thread::panicking() {
                let _ = guarded(move || inner.set(None));
            }
        }
    }
}

impl<F: Future> Guarded<F> {
    pub(crate) fn new(future: F) -> Self {
        Self { inner: Some(future) }
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = Result<F::Output, Box<PanicReport>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut inner = self.project().inner;
        let mut polled = Poll::Pending;
        // One guarded call for both the poll and the drop, since most futures are ready at their first poll.
        let caught = guarded(|| {
            if let Some(future) = inner.as_mut().as_pin_mut() {
                polled = future.poll(cx);
            }
            if polled.is_ready() {
                inner.set(None);
            }
        });
        match (caught, polled) {
            (Ok(()), Poll::Pending) => Poll::Pending,
            (Ok(()), Poll::Ready(output)) => Poll::Ready(Ok(output)),
            // A destructor's panic is a fault of an otherwise good delivery.
            (Err(report), Poll::Ready(output)) => {
                let _ = guarded(move || drop(output));
                Poll::Ready(Err(report))
            }
            // The first fault counts.
            (Err(report), Poll::Pending) => {
                let _ = guarded(|| inner.set(None));
                Poll::Ready(Err(report))
            }
        }
    }
}

/// A user's value whose destructor runs under the guard.
pub(crate) struct Contained<T>(Option<T>);

impl<T> Contained<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// The value; it is there until this is dropped.
    pub(crate) fn as_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        if !std::thread::panicking() {
            let _ = guarded(move || drop(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct PanicsOnDrop;

    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("destructor panics")
            }
        }
    }

    fn report<T>(result: Result<T, Box<PanicReport>>) -> Box<PanicReport> {
        result.err().unwrap()
    }

    #[tokio::test]
    async fn panic_is_reported_with_message_location_and_backtrace() {
        install_hook(false);
        let panicked: Result<(), _> = Guarded::new(async { panic!("boom {}", 7) }).await;
        let report = report(panicked);
        assert_eq!(report.message, "boom 7");
        assert!(report.location.unwrap().contains("guard.rs:"));
        assert!(report.backtrace.unwrap().to_string().contains("guard"));
    }

    #[tokio::test]
    async fn panic_swallowed_by_user_code_is_not_confused_with_the_real_one() {
        install_hook(false);
        let panicked: Result<(), _> = Guarded::new(async {
            let _ = catch_unwind(|| panic!("swallowed"));
            std::panic::resume_unwind(Box::new("real"));
        })
        .await;
        let report = report(panicked);
        assert_eq!(report.message, "real");
        assert_eq!(report.location, None);
    }

    #[tokio::test]
    async fn panicking_destructors_are_contained() {
        install_hook(false);
        let finished = Guarded::new(async {
            let _value = PanicsOnDrop;
            1
        })
        .await;
        assert_eq!(report(finished).message, "destructor panics");
        let mut pending = Box::pin(Guarded::new(async {
            let _value = PanicsOnDrop;
            std::future::pending::<()>().await
        }));
        assert!(futures_util::poll!(pending.as_mut()).is_pending());
        drop(pending);
        drop(Contained::new(PanicsOnDrop));
    }

    #[tokio::test]
    async fn payload_that_is_not_text_and_panics_when_dropped_is_contained() {
        install_hook(false);
        let panicked: Result<(), _> = Guarded::new(async { std::panic::panic_any(PanicsOnDrop) }).await;
        assert_eq!(report(panicked).message, "panic with a payload that is not text");
    }

    #[test]
    fn a_panic_carried_on_keeps_its_report() {
        install_hook(false);
        let first = guarded(|| -> () { panic!("first") }).unwrap_err();
        let location = first.location.clone();
        let second = guarded(|| -> () { resume(first) }).unwrap_err();
        assert_eq!((second.message.as_str(), second.location), ("first", location));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn interleaved_futures_that_hop_threads_get_their_own_reports() {
        install_hook(false);
        let mut tasks = tokio::task::JoinSet::new();
        for index in 0..500u32 {
            tasks.spawn(async move {
                let result = Guarded::new(async move {
                    for _ in 0..index % 17 {
                        tokio::task::yield_now().await;
                    }
                    assert!(index % 2 == 1, "task {index}.");
                })
                .await;
                (index, result)
            });
        }
        while let Some(done) = tasks.join_next().await {
            let (index, result) = done.unwrap();
            match result {
                Ok(()) => assert_eq!(index % 2, 1),
                Err(report) => assert_eq!(report.message, format!("task {index}.")),
            }
        }
    }
}
