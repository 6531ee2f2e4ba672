use clap::Args;
use serde::Serialize;

use super::confirm;
use crate::cli::connection::ConnectionArgs;
use crate::cli::exit::{CliError, Exit};
use crate::cli::output::{Out, count, note};
use crate::cli::select::SelectArgs;
use crate::replay::{DeadLetters, DiscardReport, Selection};

/// `bezoar dlq discard`.
#[derive(Debug, Args)]
#[command(after_help = "\
They stay in their topic until retention removes them; `list --state resolved` shows them and the reason.

Examples:
  bezoar dlq discard orders.dlq.poison/0/3 --reason 'test order, TICKET-17'
  bezoar dlq discard --source orders --fingerprint 3f2a91c0 --reason 'fixed by hand' --yes")]
pub(in crate::cli) struct DiscardArgs {
    /// Why: for whoever looks at them later
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// Do it without a question
    #[arg(long, short)]
    yes: bool,

    #[command(flatten)]
    which: SelectArgs,
}

#[derive(Debug, Serialize)]
struct DiscardJson {
    discarded: u64,
    skipped: u64,
    claimed: u64,
    missing: u64,
    unrecognized: u64,
}

pub(super) async fn run(args: &DiscardArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let selected = args.which.check("discard")?;
    if args.reason.trim().is_empty() {
        return Err(CliError::usage("the reason (--reason) is empty: say why, for whoever looks at them later"));
    }
    confirm::check(args.yes, "discard")?;
    let ports = connection.ports().await?;
    let (topics, selection) = args.which.resolve(selected, &*ports.admin).await?;
    let letters = DeadLetters::new(ports, topics);
    if !args.yes {
        let number = match &selection {
            Selection::These(places) => places.len() as u64,
            Selection::Matching(filter) => letters.list(filter, 0).await?.matched,
        };
        if number == 0 {
            return Err(CliError::nothing("no dead letter fits"));
        }
        if !confirm::ask(&format!("Mark {} as resolved?", count(number, "dead letter"))).await? {
            return Err(CliError::usage("not confirmed: nothing was discarded"));
        }
    }
    let report = letters.discard(&selection, &args.reason).await?;
    let DiscardReport { discarded, skipped, claimed, missing, unrecognized } = report;
    if discarded + skipped + claimed + missing + unrecognized == 0 {
        return Err(CliError::nothing("no dead letter fits"));
    }
    if out.is_json() {
        out.json(&DiscardJson { discarded, skipped, claimed, missing, unrecognized })?;
    } else {
        out.text(&format!("discarded {}", count(discarded, "dead letter")))?;
    }
    out.flush()?;
    for (number, why) in [
        (skipped, "left: resolved already"),
        (claimed, "left: a replay has claimed them a moment ago; run the command again in half a minute"),
        (missing, "not found: removed by retention, or no such place"),
        (
            unrecognized,
            "left: they are in no format of dead letters that is known, and are discarded only by their places",
        ),
    ] {
        if number > 0 {
            note(&format!("{} {why}", count(number, "dead letter")));
        }
    }
    Ok(match (claimed, missing, discarded) {
        (0, 0, 1..) => Exit::Done,
        (0, _, 0) => Exit::Nothing,
        _ => Exit::Failed,
    })
}
