use std::ops::ControlFlow;

use crate::broker::Ports;
use crate::cli::exit::CliError;
use crate::cli::output::{count, note};
use crate::cli::select::is_dead_letter_topic;
use crate::replay::{Convention, DeadLetters, Filter, States};

/// So many records are looked at: whoever writes dead letters marks them all, and a source topic may be large.
const LOOKED_AT: u64 = 1_000;

/// Says where a topic seems to hold no dead letters at all: the name of a source topic, given in place of its dead-letter topics.
pub(super) async fn note_no_dead_letters(ports: &Ports, topics: &[String]) -> Result<(), CliError> {
    for topic in topics.iter().filter(|topic| !is_dead_letter_topic(topic)) {
        let (mut records, mut is_known) = (0, false);
        let all = Filter { states: States::All, ..Filter::default() };
        let looking = DeadLetters::new(ports.clone(), [topic.clone()]);
        let each = |entry: crate::replay::Entry| {
            records += 1;
            is_known = entry.letter.convention != Convention::Unrecognized;
            if is_known || records == LOOKED_AT { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        looking.for_each(&all, each).await?;
        if is_known || records == 0 {
            continue;
        }
        let of_it = |name: &String| is_dead_letter_topic(name) && name.starts_with(&format!("{topic}.dlq"));
        let has_topics = ports.admin.list_topics().await?.iter().any(of_it);
        note(&told(topic, records, has_topics));
    }
    Ok(())
}

fn told(topic: &str, records: u64, has_topics: bool) -> String {
    let hint = if has_topics { format!("; did you mean --source {topic}?") } else { String::new() };
    let first = if records == LOOKED_AT { "first " } else { "" };
    match records {
        1 => format!("the 1 record of {topic:?} is no dead letter{hint}"),
        _ => format!("none of the {first}{} of {topic:?} is a dead letter{hint}", count(records, "record")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_does_not_go_further_than_what_was_looked_at() {
        assert_eq!(
            told("orders", 11, true),
            "none of the 11 records of \"orders\" is a dead letter; did you mean --source orders?"
        );
        assert_eq!(told("orders", 1_000, false), "none of the first 1,000 records of \"orders\" is a dead letter");
        assert_eq!(told("orders", 1, false), "the 1 record of \"orders\" is no dead letter");
    }
}
