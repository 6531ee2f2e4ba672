/// Ready when the process is asked to stop: at Ctrl-C (SIGINT), or, on Unix, at SIGTERM, which is what orchestrators and
/// service managers send. The signal of [`run_until`](super::Consumer::run_until) for most services. To be polled on a tokio
/// runtime.
///
/// From the first poll on the process does not end by itself at these signals. Where one cannot be listened for, which is logged,
/// the other one still is.
pub async fn shutdown_signal() {
    tokio::select! {
        () = interrupted() => {}
        () = terminated() => {}
    }
}

async fn interrupted() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::error!("Ctrl-C cannot be listened for: {error}");
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signals) => drop(signals.recv().await),
        Err(error) => {
            tracing::error!("SIGTERM cannot be listened for: {error}");
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending::<()>().await;
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::{Command, id};

    use super::*;

    #[tokio::test]
    async fn the_signal_of_orchestrators_is_one_to_shut_down() {
        let mut asked = std::pin::pin!(shutdown_signal());
        // Polled once, it listens: before, the signal would end this process.
        assert!(futures_util::poll!(&mut asked).is_pending());
        assert!(Command::new("kill").args(["-TERM", &id().to_string()]).status().unwrap().success());
        asked.await;
    }
}
