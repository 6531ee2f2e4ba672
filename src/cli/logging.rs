use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// Logs on standard error: errors, or what `-v` and BEZOAR_LOG ask for. Where it `watches`, alerts that could not be passed on too.
pub(super) fn start(verbose: u8, watches: bool) {
    let default = match verbose {
        // What the standalone monitor warns of, the command says itself.
        0 if watches => "error,bezoar::monitor=warn,bezoar::monitor::standalone=error",
        0 => "error",
        1 => "bezoar=info",
        2 => "bezoar=debug",
        _ => "trace",
    };
    let filter = match std::env::var("BEZOAR_LOG") {
        Ok(filter) if !filter.is_empty() => EnvFilter::new(filter),
        _ => EnvFilter::new(default),
    };
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let has_colours = io::stderr().is_terminal() && !is_plain;
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(has_colours).with_writer(io::stderr).init();
}
