use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use super::exit::{CliError, Exit};
use crate::consumer::shutdown_signal;

/// Does a piece of work to its end, or to Ctrl-C, which is an error then.
pub(super) async fn or_interrupted<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    tokio::select! {
        ended = work => ended,
        () = shutdown_signal() => Err(CliError::interrupted()),
    }
}

/// How long the last words of a command may take.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Ends the process a while after a signal where the command does not: writing to a reader that has stopped reading blocks it, and
/// the signal does nothing else any more.
pub(super) fn end_at_last() {
    tokio::spawn(async {
        shutdown_signal().await;
        tokio::time::sleep(LAST_WORDS).await;
        std::process::exit(Exit::Done as i32);
    });
}

/// Lets Ctrl-C pass while it is polled: it is for the program that has the terminal now.
pub(super) async fn ignored() -> Infallible {
    loop {
        shutdown_signal().await;
    }
}
