//! How a command reaches the broker: flags, then environment variables, then a file.

mod file;
mod security;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use file::ConnectionFile;
use security::SecurityArgs;

use super::exit::CliError;
use super::output::time;
use crate::broker::{ConnectionSettings, Plane, Ports};

/// How the broker is reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(super) struct ConnectionArgs {
    /// Brokers to start from: host:port, several separated by commas
    #[arg(long, global = true, env = "BEZOAR_BOOTSTRAP", value_name = "ADDRESSES")]
    bootstrap: Option<String>,

    /// A TOML file with `bootstrap` and `[security]`; a consumer's settings file fits as it is
    #[arg(long, global = true, env = "BEZOAR_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    security: SecurityArgs,

    /// How long to wait for each answer of the broker
    #[arg(long, global = true, value_name = "DURATION", default_value = "30s", hide_short_help = true)]
    #[arg(value_parser = time::parse_duration)]
    request_timeout: Duration,
}

impl ConnectionArgs {
    /// Connects, and gives ports of their own.
    pub(super) async fn ports(&self) -> Result<Ports, CliError> {
        let settings = self.settings()?;
        let bootstrap = settings.bootstrap.join(", ");
        let ports = Plane::Native.connect(settings).await?;
        tracing::info!(bootstrap, "connected");
        Ok(ports)
    }

    fn settings(&self) -> Result<ConnectionSettings, CliError> {
        let file = match &self.config {
            Some(path) => ConnectionFile::read(path).map_err(CliError::usage)?,
            None => ConnectionFile::default(),
        };
        let given = self.bootstrap.iter().flat_map(|list| list.split(',')).map(|address| address.trim().to_owned());
        let mut bootstrap: Vec<String> = given.filter(|address| !address.is_empty()).collect();
        if bootstrap.is_empty() {
            bootstrap = file.bootstrap;
        }
        if bootstrap.is_empty() {
            return Err(CliError::usage(
                "no broker is given: use --bootstrap HOST:PORT, or set the environment variable BEZOAR_BOOTSTRAP, or name a \
                 file that has `bootstrap` with --config FILE",
            ));
        }
        if let Some(wrong) = bootstrap.iter().find(|address| !is_address(address)) {
            return Err(CliError::usage(format!(
                "{wrong:?} is no address of a broker: write HOST:PORT, such as localhost:9092 (an IPv6 host in brackets: \
                 [::1]:9092)"
            )));
        }
        let mut settings = ConnectionSettings::new(bootstrap);
        // So long may a fetch stand that asked for less than is wanted now: people wait.
        settings.fetch_max_wait = Duration::from_millis(100);
        settings.client_id = "bezoar-cli".to_owned();
        settings.security = self.security.over(file.security)?;
        settings.connect_timeout = settings.connect_timeout.min(self.request_timeout);
        settings.request_timeout = self.request_timeout;
        Ok(settings)
    }
}

/// Whether a text can be `host:port`.
fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let is_bare = !host.contains(':') || (host.starts_with('[') && host.ends_with(']'));
        let is_host =
            !host.is_empty() && !host.contains(|letter: char| letter.is_whitespace() || "/@".contains(letter));
        is_bare && is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for address in ["localhost:9092", "127.0.0.1:1", "[::1]:9092", "kafka-0.kafka.svc:65535"] {
            assert!(is_address(address), "{address}");
        }
        for wrong in ["", "localhost", ":9092", "::1:9092", "http://a:1", "a b:1", "a:0", "a:65536", "a:x", "u@h:1"] {
            assert!(!is_address(wrong), "{wrong}");
        }
    }
}
