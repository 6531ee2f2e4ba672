use std::convert::Infallible;
use std::future::Future;

use super::exit::CliError;
use crate::consumer::shutdown_signal;

/// Does a piece of work to its end, or to Ctrl-C, which is an error then.
pub(super) async fn or_interrupted<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    tokio::select! {
        ended = work => ended,
        () = shutdown_signal() => Err(CliError::interrupted()),
    }
}

/// Lets Ctrl-C pass while it is polled: it is for the program that has the terminal now.
pub(super) async fn ignored() -> Infallible {
    loop {
        shutdown_signal().await;
    }
}
