//! The command `bezoar`: `args` is the command line, each command has a file or folder of its own, `output` is what they say.

mod args;
mod broker;
mod completions;
mod connection;
mod dlq;
mod exit;
mod fix;
mod interrupt;
mod lag;
mod logging;
mod number;
mod output;
mod select;
mod settings;
mod topics;

use std::process::ExitCode;

use args::{Cli, Command};
use clap::Parser;
use exit::{CliError, Exit};
use output::{Out, note};

/// Runs the command with the process's arguments.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help is an "error" too, with the exit code 0. Where nobody reads it, that is no failure.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Done }.into();
        }
    };
    if let Command::JqWorker(worker) = &cli.command {
        return fix::serve(&worker.program);
    }
    logging::start(cli.verbose, cli.command.watches());
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            note(&format!("error: no threads can be started ({error})"));
            return Exit::Failed.into();
        }
    };
    let mut out = Out::new(cli.output);
    let ended = runtime.block_on(run(&cli, &mut out)).and_then(|exit| out.flush().map(|()| exit));
    // A thread may still wait for a line from the terminal.
    runtime.shutdown_background();
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => {
            match error.exit {
                Exit::Interrupted => note(&error.message),
                _ if error.message.is_empty() => {}
                _ => note(&format!("error: {}", error.message)),
            }
            error.exit.into()
        }
    }
}

async fn run(cli: &Cli, out: &mut Out) -> Result<Exit, CliError> {
    match &cli.command {
        Command::Dlq(command) => dlq::run(command, &cli.connection, out).await,
        Command::Topics(args) => interrupt::or_interrupted(topics::run(args, &cli.connection, out)).await,
        Command::Lag(args) => interrupt::or_interrupted(lag::run(args, &cli.connection, out)).await,
        Command::Broker(args) => broker::run(args, out).await,
        Command::Completions(args) => completions::run(args, out),
        Command::JqWorker(_) => Ok(Exit::Done),
    }
}
