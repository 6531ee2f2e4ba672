use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;

use super::{note_no_dead_letters, note_unreadable};
use crate::cli::connection::ConnectionArgs;
use crate::cli::exit::{CliError, Exit};
use crate::cli::output::entry::vouches;
use crate::cli::output::time::{age, now, rfc3339};
use crate::cli::output::{Column, Out, Table, thousands};
use crate::cli::select::TopicArgs;
use crate::policy::Category;
use crate::replay::{DeadLetters, TopicStats};

/// `bezoar dlq stats`.
#[derive(Debug, Args)]
#[command(after_help = "\
Parked dead letters (replayed as often as is allowed, and failed again) and claimed ones (a run began to replay them, and \
has not told the result) count as unresolved too. A second table breaks those that are unresolved down, where their topic's name does not say it.

Examples:
  bezoar dlq stats --source orders
  bezoar dlq stats '*.dlq*' --output json")]
pub(in crate::cli) struct StatsArgs {
    #[command(flatten)]
    topics: TopicArgs,
}

#[derive(Debug, Serialize)]
struct StatsJson<'a> {
    topic: &'a str,
    total: u64,
    unresolved: u64,
    parked: u64,
    claimed: u64,
    replayed: u64,
    discarded: u64,
    oldest: Option<String>,
    categories: &'a BTreeMap<Category, u64>,
    sources: BTreeMap<&'a str, u64>,
    other_sources: u64,
}

pub(super) async fn run(args: &StatsArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let ports = connection.ports().await?;
    let topics = args.topics.resolve(&*ports.admin).await?;
    let all = DeadLetters::new(ports.clone(), topics.clone()).stats().await?;
    note_unreadable(all.iter().map(|stats| stats.unreadable).sum());
    show(&all, out)?;
    out.flush()?;
    note_no_dead_letters(&ports, &topics).await?;
    Ok(Exit::Done)
}

fn show(all: &[TopicStats], out: &mut Out) -> Result<(), CliError> {
    if out.is_json() {
        for stats in all {
            out.json(&StatsJson {
                topic: &stats.topic,
                total: stats.total,
                unresolved: stats.unresolved,
                parked: stats.parked,
                claimed: stats.claimed,
                replayed: stats.replayed,
                discarded: stats.discarded,
                oldest: stats.oldest.map(rfc3339),
                categories: &stats.categories,
                sources: stats.sources.iter().map(|(topic, number)| (&**topic, *number)).collect(),
                other_sources: stats.other_sources,
            })?;
        }
        return Ok(());
    }
    out.table(totals(all))?;
    let unresolved = breakdown(all);
    if !unresolved.is_empty() {
        out.text("")?;
        out.table(unresolved)?;
    }
    Ok(())
}

fn totals(all: &[TopicStats]) -> Table {
    let mut table = Table::new(&[
        Column::Whole("TOPIC"),
        Column::Number("UNRESOLVED"),
        Column::Number("OLDEST"),
        Column::Number("REPLAYED"),
        Column::Number("DISCARDED"),
        Column::Number("TOTAL"),
    ]);
    let now = now();
    for stats in all {
        table.row([
            stats.topic.to_string(),
            thousands(stats.unresolved),
            stats.oldest.map_or_else(|| "-".to_owned(), |oldest| age(now, oldest)),
            thousands(stats.replayed),
            thousands(stats.discarded),
            thousands(stats.total),
        ]);
    }
    table
}

/// What those that are unresolved are.
fn breakdown(all: &[TopicStats]) -> Table {
    let mut table = Table::new(&[Column::Whole("TOPIC"), Column::Number("UNRESOLVED"), Column::Whole("BY")]);
    for stats in all {
        let mut row = |number: u64, what: String| {
            if number > 0 {
                table.row([stats.topic.to_string(), thousands(number), what]);
            }
        };
        // What the topic's name says of all of them needs no row.
        for (category, number) in &stats.categories {
            if stats.categories.len() > 1 || !stats.topic.ends_with(category.as_str()) {
                row(*number, category.to_string());
            }
        }
        for (source, number) in &stats.sources {
            if stats.sources.len() > 1 || stats.other_sources > 0 || !vouches(&stats.topic, source) {
                row(*number, format!("from {source}"));
            }
        }
        row(stats.other_sources, "from elsewhere".to_owned());
        row(stats.parked, "parked".to_owned());
        row(stats.claimed, "claimed by a run".to_owned());
    }
    table
}
