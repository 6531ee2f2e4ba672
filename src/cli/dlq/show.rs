use clap::Args;

use crate::cli::connection::ConnectionArgs;
use crate::cli::exit::{CliError, Exit};
use crate::cli::output::bytes::{self, Kind};
use crate::cli::output::entry::{EntryJson, display_id, fidelity_name, state_name, warnings};
use crate::cli::output::time::{age, now, rfc3339};
use crate::cli::output::{Out, count, escape};
use crate::cli::select::parse_place;
use crate::record::RecordId;
use crate::replay::{DeadLetters, Entry, Origin, State};

/// `bezoar dlq show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bezoar dlq show orders.dlq.poison/0/3
  bezoar dlq show orders.dlq.poison/0/3 --output json | jq -r .value")]
pub(in crate::cli) struct ShowArgs {
    /// The dead letter's place: TOPIC/PARTITION/OFFSET, as `list` shows it
    #[arg(value_name = "PLACE", value_parser = parse_place)]
    place: RecordId,
}

pub(super) async fn run(args: &ShowArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let ports = connection.ports().await?;
    let letters = DeadLetters::new(ports, [args.place.partition.shared_topic()]);
    let entry = letters.show(&args.place).await?;
    if out.is_json() {
        out.json(&EntryJson::new(&entry))?;
    } else {
        out.text(&describe(&entry, now()))?;
    }
    Ok(Exit::Done)
}

/// All of a dead letter, for people.
fn describe(entry: &Entry, now: i64) -> String {
    let letter = &entry.letter;
    let mut page = Page(String::new());
    page.fact("Dead letter", &format!("{}, published {}", entry.at, when(entry.timestamp, now)));
    page.fact("State", &state(&entry.state, now));
    if let Some(earlier) = &entry.duplicate_of {
        page.fact("Repeats", &format!("{earlier}: the record was dead-lettered twice"));
    }
    page.fact("Came from", &origin(&letter.origin, now));
    if let Some(hop) = &letter.last_hop {
        page.fact("Last hop", &origin(hop, now));
    }
    if let Some(id) = display_id(&letter.origin) {
        page.fact("Id", &id);
    }
    page.fact("Category", letter.category.as_str());
    page.fact("Error", &letter.error_type);
    page.fact("Message", &letter.message);
    page.fact("Fingerprint", &letter.fingerprint);
    page.fact("Attempts", &letter.attempts.map(|attempts| attempts.to_string()).unwrap_or_default());
    page.fact("First failed", &letter.first_failed_at.map(|at| when(at, now)).unwrap_or_default());
    page.fact("Last failed", &letter.last_failed_at.map(|at| when(at, now)).unwrap_or_default());
    page.fact("Group", letter.group.as_deref().unwrap_or_default());
    let version = letter.consumer_version.as_deref().map(|version| format!(" (version {version})"));
    page.fact(
        "Consumer",
        &format!("{}{}", letter.consumer_id.as_deref().unwrap_or_default(), version.unwrap_or_default()),
    );
    page.fact("Earlier replays", &letter.replay_count.to_string());
    page.fact("Written as", &format!("{} ({})", letter.convention, fidelity_name(letter.fidelity)));
    for warning in warnings(entry) {
        page.fact("Warning", &warning);
    }
    page.bytes("Key", letter.key.as_deref());
    let headers: Vec<String> = letter
        .headers
        .iter()
        .map(|header| {
            let (name, value) = (bytes::short(Some(&header.name)), bytes::short(header.value.as_deref()));
            format!("{}: {}", escape::line(&name), escape::line(&value))
        })
        .collect();
    page.block(&count(headers.len() as u64, "header"), &headers.join("\n"));
    page.bytes("Value", letter.value.as_deref());
    if let Some(backtrace) = &letter.backtrace {
        page.block("Backtrace", backtrace);
    }
    page.0
}

/// Text with facts and blocks.
struct Page(String);

impl Page {
    /// A name and what is known, further lines of it set under the first. Nothing where nothing is known.
    fn fact(&mut self, name: &str, text: &str) {
        let mut lines = text.trim_end().lines();
        let Some(first) = lines.next().filter(|first| !first.is_empty()) else { return };
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(&format!("{name:<16} {first}"));
        for line in lines {
            self.0.push_str(&format!("\n{:<16} {line}", ""));
        }
    }

    /// A title, and text set in under it.
    fn block(&mut self, title: &str, text: &str) {
        self.0.push_str(&format!("\n\n{title}"));
        for line in text.lines() {
            self.0.push_str(&format!("\n  {line}"));
        }
    }

    fn bytes(&mut self, title: &str, bytes: Option<&[u8]>) {
        let (kind, text) = bytes::readable(bytes);
        let size = count(bytes.map_or(0, <[u8]>::len) as u64, "byte");
        let title = match kind {
            Kind::Null => format!("{title}: null"),
            Kind::Json => format!("{title} (JSON, {size})"),
            Kind::Text => format!("{title} (text, {size})"),
            Kind::Binary => format!("{title} (binary, {size})"),
        };
        self.block(&title, &text);
    }
}

fn when(at: i64, now: i64) -> String {
    format!("{} ({} ago)", rfc3339(at), age(now, at))
}

fn origin(origin: &Origin, now: i64) -> String {
    let time = origin.timestamp.map(|at| format!(", of {}", when(at, now)));
    let id = origin.topic_id.map(|id| format!(", topic id {id}"));
    format!("{origin}{}{}", time.unwrap_or_default(), id.unwrap_or_default())
}

fn state(state: &State, now: i64) -> String {
    let name = state_name(state);
    match state {
        State::Unresolved => name.to_owned(),
        State::Claimed { run, at } => {
            format!("{name} by the run {run} at {}: it has not told the result", when(*at, now))
        }
        State::Replayed { at, to } => format!("{name} to {to} at {}", when(*at, now)),
        State::Failed { at, reason } => format!("{name} to be replayed at {}: {reason}", when(*at, now)),
        State::Discarded { at, reason } => format!("{name} at {}: {reason}", when(*at, now)),
    }
}
