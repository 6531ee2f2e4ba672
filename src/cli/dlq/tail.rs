use std::pin::pin;

use clap::Args;

use crate::cli::connection::ConnectionArgs;
use crate::cli::exit::{CliError, Exit};
use crate::cli::interrupt::end_at_last;
use crate::cli::number;
use crate::cli::output::entry::{EntryJson, error_text};
use crate::cli::output::time::rfc3339;
use crate::cli::output::{Out, count, escape, note};
use crate::cli::select::{FilterArgs, TopicArgs};
use crate::consumer::shutdown_signal;
use crate::replay::{DeadLetters, Entry};

/// `bezoar dlq tail`.
#[derive(Debug, Args)]
#[command(after_help = "\
It begins now, or at --since, and goes on until Ctrl-C.

Examples:
  bezoar dlq tail --source orders
  bezoar dlq tail '*.dlq*' --since 10m --output json")]
pub(in crate::cli) struct TailArgs {
    #[command(flatten)]
    topics: TopicArgs,

    /// End after so many
    #[arg(long, short = 'n', value_name = "NUMBER", value_parser = number::whole::<u64>)]
    limit: Option<u64>,

    #[command(flatten)]
    filter: FilterArgs,
}

pub(super) async fn run(args: &TailArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let mut stop = pin!(shutdown_signal());
    end_at_last();
    tokio::select! {
        ended = follow(args, connection, out) => ended,
        () = &mut stop => Ok(Exit::Done),
    }
}

async fn follow(args: &TailArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let filter = args.filter.filter()?;
    let ports = connection.ports().await?;
    let topics = args.topics.resolve(&*ports.admin).await?;
    let number = topics.len() as u64;
    let mut letters = DeadLetters::new(ports, topics).follow(&filter).await?;
    note(&format!("following {}; Ctrl-C ends it", count(number, "topic")));
    let mut shown = 0;
    while args.limit.is_none_or(|limit| shown < limit) {
        let entry = letters.next().await?;
        if out.is_json() {
            out.json(&EntryJson::new(&entry))?;
        } else {
            out.text(&line(&entry))?;
        }
        out.flush()?;
        shown += 1;
    }
    Ok(Exit::Done)
}

/// At most this much of an error is shown, in characters.
const ERROR: usize = 200;

fn line(entry: &Entry) -> String {
    let mut error: String = error_text(&entry.letter).chars().take(ERROR + 1).collect();
    if error.chars().count() > ERROR {
        error.pop();
        error.push('…');
    }
    let (time, category) = (rfc3339(entry.timestamp), entry.letter.category);
    let text = format!("{time}  {}  {category}  from {}  {error}", entry.at, entry.letter.origin);
    escape::line(&text).into_owned()
}
