use std::convert::Infallible;
use std::future::Future;

use super::exit::{CliError, Exit};
use super::output::note;
use crate::consumer::shutdown_signal;

/// Runs a command to its end, or to Ctrl-C.
pub(super) async fn or_interrupted(work: impl Future<Output = Result<Exit, CliError>>) -> Result<Exit, CliError> {
    tokio::select! {
        ended = work => ended,
        () = shutdown_signal() => {
            note("interrupted");
            Ok(Exit::Interrupted)
        }
    }
}

/// Lets Ctrl-C pass while it is polled: it is for the program that has the terminal now.
pub(super) async fn ignored() -> Infallible {
    loop {
        shutdown_signal().await;
    }
}
