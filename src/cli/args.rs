use clap::{ArgAction, Args, Parser, Subcommand};

use super::broker::BrokerArgs;
use super::completions::CompletionsArgs;
use super::connection::ConnectionArgs;
use super::dlq::DlqCommand;
use super::lag::LagArgs;
use super::output::Format;
use super::topics::TopicsArgs;

const EXIT_CODES: &str = "\
Exit codes:
    0  all was done (tail, dlq watch, broker: ended by Ctrl-C)
    1  something failed, such as the replay of some dead letters; the others are done
    2  the command line or a setting makes no sense, or nobody confirmed; nothing was sent
    3  the broker could not be reached, or refused
    4  nothing to do: no dead letter fits, all that fit were left, nothing was edited, or a topic, group or dead letter does not exist
    5  dlq watch --once: a topic is not healthy
  130  Ctrl-C before the end

Connection: flags come first, then environment variables, then the file of --config. `bezoar help dlq list` shows those for \
TLS and SASL too. BEZOAR_LOG filters what -v logs, such as BEZOAR_LOG=bezoar=debug.

Examples:
  bezoar --bootstrap localhost:9092 topics --dead-letters
  export BEZOAR_BOOTSTRAP=localhost:9092
  bezoar dlq stats --source orders
  bezoar dlq groups --source orders
  bezoar dlq replay --source orders --fingerprint 3f2a --dry-run";

/// Read, understand, replay and watch dead letters in Kafka.
#[derive(Debug, Parser)]
#[command(name = "bezoar", version, max_term_width = 110, after_long_help = EXIT_CODES)]
#[command(after_help = "`bezoar --help` shows exit codes, examples and the flags for TLS and SASL.")]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,

    /// How results are written
    #[arg(long, short, global = true, value_enum, default_value_t, help_heading = "Output")]
    pub(super) output: Format,

    /// Log what is done on standard error; twice for more
    #[arg(long, short, global = true, action = ArgAction::Count, help_heading = "Output")]
    pub(super) verbose: u8,

    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Dead letters: list, show, groups, replay, discard, stats, tail, watch
    #[command(subcommand)]
    Dlq(Box<DlqCommand>),
    /// List topics, with partitions and records
    Topics(TopicsArgs),
    /// Show how far a consumer group is behind, per partition
    Lag(LagArgs),
    /// Run a broker in memory, for tests and to try things out
    Broker(BrokerArgs),
    /// Write completions for a shell to standard output
    Completions(CompletionsArgs),
    /// Runs jq programs for `dlq replay --fix`, in a process of its own
    #[command(hide = true)]
    JqWorker(JqWorkerArgs),
}

impl Command {
    /// Whether it tells people of dead letters, and so must say where that fails.
    pub(super) fn watches(&self) -> bool {
        matches!(self, Self::Dlq(command) if matches!(**command, DlqCommand::Watch(_)))
    }
}

#[derive(Debug, Args)]
pub(super) struct JqWorkerArgs {
    pub(super) program: String,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_command_shows_an_example() {
        fn look(command: &clap::Command) {
            for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
                match command.has_subcommands() {
                    true => look(command),
                    false => {
                        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                        assert!(help.contains("Example"), "{}", command.get_name());
                    }
                }
            }
        }
        look(&Cli::command());
    }
}
