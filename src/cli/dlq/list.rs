use clap::Args;

use super::{note_no_dead_letters, note_unreadable};
use crate::cli::connection::ConnectionArgs;
use crate::cli::exit::{CliError, Exit};
use crate::cli::number;
use crate::cli::output::entry::{EntryJson, error_text, state_name};
use crate::cli::output::time::{age, now};
use crate::cli::output::{Column, Out, Table, count, note, thousands};
use crate::cli::select::{FilterArgs, TopicArgs};
use crate::replay::{DeadLetters, Entry, Listing, Origin, State};

/// `bezoar dlq list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Topics come one after another, the oldest dead letters of each first; with --newest all topics together, the newest first. Those that are replayed or discarded are left out, \
unless --state asks for them.

Examples:
  bezoar dlq list --source orders
  bezoar dlq list --source orders --newest --limit 10
  bezoar dlq list orders.dlq.poison --since 2h --limit 20
  bezoar dlq list 'orders.dlq*' --category validation --text 'missing field'
  bezoar dlq list --source orders --output json | jq -r .place")]
pub(in crate::cli) struct ListArgs {
    #[command(flatten)]
    topics: TopicArgs,

    /// How many to list at most; all that fit are counted
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = Listing::LIMIT, value_parser = number::whole::<usize>)]
    limit: usize,

    /// The newest first, over all topics; only as many are read as it takes, and not all that fit are counted
    #[arg(long)]
    newest: bool,

    #[command(flatten)]
    filter: FilterArgs,
}

pub(super) async fn run(args: &ListArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let filter = args.filter.filter()?;
    let ports = connection.ports().await?;
    let topics = args.topics.resolve(&*ports.admin).await?;
    let letters = DeadLetters::new(ports.clone(), topics.clone());
    let listing = match args.newest {
        true => letters.newest(&filter, args.limit).await?,
        false => letters.list(&filter, args.limit).await?,
    };
    note_unreadable(listing.unreadable);
    if listing.matched == 0 {
        note_no_dead_letters(&ports, &topics).await?;
        return Err(CliError::nothing("no dead letter fits"));
    }
    if out.is_json() {
        for entry in &listing.entries {
            out.json(&EntryJson::new(entry))?;
        }
    } else {
        out.table(table(&listing.entries))?;
    }
    out.flush()?;
    note(&told(&listing));
    note_no_dead_letters(&ports, &topics).await?;
    Ok(Exit::Done)
}

/// How many there are, as far as that is known.
fn told(listing: &Listing) -> String {
    let listed = thousands(listing.entries.len() as u64);
    if !listing.is_whole {
        return format!("the newest {listed} listed, --limit lists more");
    }
    let fit = if listing.matched == 1 { "fits" } else { "fit" };
    let mut text = format!("{} {fit}", count(listing.matched, "dead letter"));
    if listing.has_more() {
        text.push_str(&format!("; {listed} listed, --limit lists more"));
    }
    text
}

fn table(entries: &[Entry]) -> Table {
    // What topics' names say needs no column, nor does what is the same for all.
    let has_category =
        !entries.iter().all(|entry| entry.at.partition.topic().ends_with(entry.letter.category.as_str()));
    let has_state = !entries.iter().all(|entry| entry.state == State::Unresolved);
    let mut columns = vec![Column::Whole("PLACE"), Column::Number("AGE")];
    columns.extend(has_state.then_some(Column::Whole("STATE")));
    columns.extend(has_category.then_some(Column::Whole("CATEGORY")));
    columns.extend([Column::Whole("SOURCE"), Column::Cut("ERROR")]);
    let (mut table, now) = (Table::new(&columns), now());
    for entry in entries {
        let mut row = vec![entry.at.to_string(), age(now, entry.timestamp)];
        row.extend(has_state.then(|| state_name(&entry.state).to_owned()));
        row.extend(has_category.then(|| entry.letter.category.to_string()));
        row.extend([source(&entry.letter.origin), error_text(&entry.letter)]);
        table.row(row);
    }
    table
}

/// Where it came from, as it says itself: cut where that is so long that it would push the rest away.
fn source(origin: &Origin) -> String {
    const LONGEST: usize = 60;
    let text = origin.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
