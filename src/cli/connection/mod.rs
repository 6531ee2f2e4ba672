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
        Ok(Plane::Native.connect(self.settings()?).await?)
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
