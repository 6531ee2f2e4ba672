use clap::Args;
use serde::Serialize;

use super::{note_no_dead_letters, note_unreadable};
use crate::cli::connection::ConnectionArgs;
use crate::cli::exit::{CliError, Exit};
use crate::cli::number;
use crate::cli::output::entry::{EntryJson, error_text};
use crate::cli::output::time::{age, now, rfc3339};
use crate::cli::output::{Column, Out, Table, count, note, thousands};
use crate::cli::select::{FilterArgs, TopicArgs};
use crate::replay::{DeadLetters, Group};

/// `bezoar dlq groups`.
#[derive(Debug, Args)]
#[command(after_help = "\
The most frequent fault comes first. The beginning of a fingerprint is enough for --fingerprint.

Examples:
  bezoar dlq groups --source orders
  bezoar dlq groups --source orders --since 1h
  bezoar dlq replay --source orders --fingerprint 3f2a91c0 --dry-run")]
pub(in crate::cli) struct GroupsArgs {
    #[command(flatten)]
    topics: TopicArgs,

    /// How many groups to show at most; all that fit are counted
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 100, value_parser = number::whole::<usize>)]
    limit: usize,

    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Debug, Serialize)]
struct GroupJson<'a> {
    fingerprint: &'a str,
    count: u64,
    first_seen: String,
    last_seen: String,
    example: EntryJson<'a>,
}

pub(super) async fn run(args: &GroupsArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let filter = args.filter.filter()?;
    let ports = connection.ports().await?;
    let topics = args.topics.resolve(&*ports.admin).await?;
    let found = DeadLetters::new(ports.clone(), topics.clone()).groups(&filter).await?;
    note_unreadable(found.unreadable);
    if found.groups.is_empty() {
        note_no_dead_letters(&ports, &topics).await?;
        return Err(CliError::nothing("no dead letter fits"));
    }
    let groups = &found.groups[..found.groups.len().min(args.limit)];
    if out.is_json() {
        for group in groups {
            out.json(&GroupJson {
                fingerprint: &group.fingerprint,
                count: group.count,
                first_seen: rfc3339(group.first_seen),
                last_seen: rfc3339(group.last_seen),
                example: EntryJson::new(&group.example),
            })?;
        }
    } else {
        out.table(table(groups))?;
    }
    out.flush()?;
    let letters = found.groups.iter().map(|group| group.count).sum::<u64>() + found.others;
    let mut text = format!("{} in {}", count(letters, "dead letter"), count(found.groups.len() as u64, "group"));
    if groups.len() < found.groups.len() {
        text.push_str(&format!("; {} shown, --limit shows more", thousands(groups.len() as u64)));
    }
    if found.others > 0 {
        let others = count(found.others, "dead letter");
        text.push_str(&format!("; {others} of faults beyond these could not be grouped: give conditions"));
    }
    note(&text);
    note_no_dead_letters(&ports, &topics).await?;
    Ok(Exit::Done)
}

fn table(groups: &[Group]) -> Table {
    let mut table = Table::new(&[
        Column::Number("COUNT"),
        Column::Number("FIRST"),
        Column::Number("LAST"),
        Column::Whole("FINGERPRINT"),
        Column::Whole("EXAMPLE"),
        Column::Cut("ERROR"),
    ])
    .tall(3);
    let (now, length) = (now(), shortest(groups.iter().map(|group| group.fingerprint.as_str())));
    for group in groups {
        table.row([
            thousands(group.count),
            age(now, group.first_seen),
            age(now, group.last_seen),
            group.fingerprint.chars().take(length).collect(),
            group.example.at.to_string(),
            error_text(&group.example.letter),
        ]);
    }
    table
}

/// How many characters tell the fingerprints apart: 8, or all (which are 16, unless somebody else made them up).
fn shortest<'a>(fingerprints: impl Iterator<Item = &'a str>) -> usize {
    let mut beginnings: Vec<&str> = fingerprints.map(|text| text.get(..8).unwrap_or(text)).collect();
    let number = beginnings.len();
    beginnings.sort_unstable();
    beginnings.dedup();
    if beginnings.len() == number { 8 } else { 64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_shortened_where_that_tells_them_apart() {
        assert_eq!(shortest(["0123456789", "1123456789", "é"].into_iter()), 8);
        assert_eq!(shortest(["0123456789", "0123456799"].into_iter()), 64);
    }
}
