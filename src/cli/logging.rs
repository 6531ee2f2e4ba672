use std::io;

use tracing_subscriber::EnvFilter;

/// Logs on standard error: errors, or what `-v` and BEZOAR_LOG ask for.
pub(super) fn start(verbose: u8) {
    let default = match verbose {
        0 => "error",
        1 => "bezoar=info",
        2 => "bezoar=debug",
        _ => "trace",
    };
    let filter = match std::env::var("BEZOAR_LOG") {
        Ok(filter) if !filter.is_empty() => EnvFilter::new(filter),
        _ => EnvFilter::new(default),
    };
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
}
