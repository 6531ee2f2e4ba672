use std::num::NonZeroU32;
use std::sync::Arc;

use clap::Args;

use crate::cli::number;
use crate::cli::select::SelectArgs;
use crate::replay::ReplayOptions;

/// `bezoar dlq replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
How many would be sent where is shown first, and a question asked before anything is sent; --dry-run lists them. Each dead letter goes to the topic that it came \
from, into the same partition where that exists, with its original key, value and headers (and those that tell of the replay). \
What was done is marked in the topic DEAD-LETTER-TOPIC.replays, so that nothing is replayed twice, by whomever.

A jq program (--fix) gets the value, which must be JSON, and gives the new one. Where it fails, gives no result or several, or \
takes more than 5 s, the dead letter counts as failed and stays as it is.

Examples:
  bezoar dlq replay orders.dlq.transient/0/3
  bezoar dlq replay --source orders --category transient,dependency --rate 50
  bezoar dlq replay --source orders --fingerprint 3f2a91c0 --fix '.items |= [.]' --dry-run
  bezoar dlq replay orders.dlq.validation/0/7 --edit
  bezoar dlq replay --source orders --all --to orders.repair --allow-target orders.repair --yes")]
pub(in crate::cli) struct ReplayArgs {
    /// Send to this topic [default: where each one came from]; one that the dead-letter topic is not named after must be allowed
    /// by --allow-target too
    #[arg(long, value_name = "TOPIC")]
    to: Option<String>,

    /// A topic that may be sent to, besides the one that the dead-letter topic is named after; may be given more than once
    #[arg(long, value_name = "TOPIC", env = "BEZOAR_ALLOWED_TARGETS", value_delimiter = ',')]
    allow_target: Vec<String>,

    /// Only show what would be done
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Change each value by this jq program before it is sent
    #[arg(long, value_name = "JQ PROGRAM", conflicts_with = "edit")]
    pub(super) fix: Option<String>,

    /// Change the value of one dead letter in your editor ($VISUAL, $EDITOR) before it is sent
    #[arg(long)]
    pub(super) edit: bool,

    /// With --edit: send it even if nothing was changed
    #[arg(long, requires = "edit")]
    pub(super) send_unchanged: bool,

    /// The most records per second [default: no limit]
    #[arg(long, value_name = "NUMBER", value_parser = number::positive)]
    rate: Option<NonZeroU32>,

    /// How many records may be under way at a time: so many may be sent twice if this command is killed
    #[arg(long, value_name = "NUMBER", default_value = "100", value_parser = number::positive)]
    in_flight: NonZeroU32,

    /// Leave those that were replayed so often already
    #[arg(long, value_name = "NUMBER", default_value_t = ReplayOptions::default().max_replays, value_parser = number::whole::<u32>)]
    max_replays: u32,

    /// Those too that are replayed or discarded already
    #[arg(long)]
    pub(super) again: bool,

    /// End at the first failure
    #[arg(long)]
    stop_at_first_error: bool,

    /// Send without a question
    #[arg(long, short)]
    pub(super) yes: bool,

    #[command(flatten)]
    pub(super) which: SelectArgs,
}

impl ReplayArgs {
    /// The options of the replay, without its fix.
    pub(super) fn options(&self) -> ReplayOptions {
        ReplayOptions {
            target: self.to.as_deref().map(Arc::from),
            allowed_targets: self.allow_target.iter().map(|topic| Arc::from(topic.as_str())).collect(),
            rate: self.rate,
            in_flight: self.in_flight,
            max_replays: self.max_replays,
            again: self.again,
            stop_at_first_error: self.stop_at_first_error,
            ..ReplayOptions::default()
        }
    }
}
