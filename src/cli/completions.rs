use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::args::Cli;
use super::exit::{CliError, Exit};
use super::output::Out;

/// `bezoar completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bezoar completions bash > /etc/bash_completion.d/bezoar
  bezoar completions zsh > \"${fpath[1]}/_bezoar\"
  bezoar completions fish > ~/.config/fish/completions/bezoar.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs, out: &mut Out) -> Result<Exit, CliError> {
    // Into memory first: the generator panics where standard output is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bezoar", &mut script);
    out.raw(&script)?;
    Ok(Exit::Done)
}
