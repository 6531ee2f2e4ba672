use std::io::{self, Write};

use tracing_subscriber::EnvFilter;

use super::output::escape;

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
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(|| Harmless).init();
}

/// Standard error. What records and brokers say is logged too, and must steer no terminal.
struct Harmless;

impl Write for Harmless {
    /// An event comes as a whole.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(escape::lines(&String::from_utf8_lossy(event)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
