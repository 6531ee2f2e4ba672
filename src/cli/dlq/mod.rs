//! The commands `bezoar dlq …`.

mod confirm;
mod discard;
mod doubt;
mod groups;
mod list;
mod replay;
mod show;
mod stats;
mod tail;
mod watch;

use clap::Subcommand;
use doubt::note_no_dead_letters;

use super::connection::ConnectionArgs;
use super::exit::{CliError, Exit};
use super::interrupt::or_interrupted;
use super::output::{Out, count, note};

/// `bezoar dlq`.
#[derive(Debug, Subcommand)]
pub(super) enum DlqCommand {
    /// List dead letters
    List(list::ListArgs),
    /// Show all of one dead letter
    Show(show::ShowArgs),
    /// Show dead letters of the same fault together
    Groups(groups::GroupsArgs),
    /// Send dead letters back to where they came from, or to another topic
    Replay(Box<replay::ReplayArgs>),
    /// Mark dead letters as resolved without sending them
    Discard(discard::DiscardArgs),
    /// Count dead letters per topic
    Stats(stats::StatsArgs),
    /// Show dead letters as they come
    Tail(tail::TailArgs),
    /// Watch how many dead letters there are, and tell people
    Watch(watch::WatchArgs),
}

pub(super) async fn run(command: &DlqCommand, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    match command {
        DlqCommand::List(args) => or_interrupted(list::run(args, connection, out)).await,
        DlqCommand::Show(args) => or_interrupted(show::run(args, connection, out)).await,
        DlqCommand::Groups(args) => or_interrupted(groups::run(args, connection, out)).await,
        DlqCommand::Replay(args) => replay::run(args, connection, out).await,
        DlqCommand::Discard(args) => or_interrupted(discard::run(args, connection, out)).await,
        DlqCommand::Stats(args) => or_interrupted(stats::run(args, connection, out)).await,
        DlqCommand::Tail(args) => tail::run(args, connection, out).await,
        DlqCommand::Watch(args) => watch::run(args, connection, out).await,
    }
}

/// Says that parts of the logs could not be read.
fn note_unreadable(unreadable: u64) {
    if unreadable > 0 {
        note(&format!(
            "warning: {} of the logs damaged and passed over (BEZOAR_LOG=warn tells which)",
            match unreadable {
                1 => "1 range is".to_owned(),
                _ => count(unreadable, "range") + " are",
            }
        ));
    }
}
