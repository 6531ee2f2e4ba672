use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::cli::exit::CliError;
use crate::cli::number;
use crate::cli::output::time;
use crate::policy::Category;
use crate::replay::{Filter, States};

/// Which dead letters are meant: all that every given condition fits.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which dead letters (all that every given condition fits)")]
pub(in crate::cli) struct FilterArgs {
    /// Of these categories
    #[arg(long, value_name = "CATEGORY", value_delimiter = ',', value_parser = categories())]
    category: Vec<Category>,

    /// With this error type
    #[arg(long, value_name = "TYPE")]
    error_type: Option<String>,

    /// With this fingerprint, or one that begins so
    #[arg(long, value_name = "HEX")]
    fingerprint: Option<String>,

    /// From this source topic
    #[arg(long, value_name = "TOPIC")]
    source_topic: Option<String>,

    /// From this source partition
    #[arg(long, value_name = "NUMBER", value_parser = number::whole::<i32>)]
    source_partition: Option<i32>,

    /// From these source offsets: one, or A..B from A up to B without B, or A.. or ..B
    #[arg(long, value_name = "A..B", value_parser = parse_offsets)]
    source_offsets: Option<Range<i64>>,

    /// With this key
    #[arg(long, value_name = "TEXT")]
    key: Option<String>,

    /// With this key, which is no text, in base64
    #[arg(long, value_name = "BASE64", value_parser = parse_base64, conflicts_with = "key")]
    key_base64: Option<Bytes>,

    /// Published at or after this time: RFC 3339, a date (midnight in UTC), or how long ago, such as 2h
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<i64>,

    /// Published before this time: RFC 3339, a date (midnight in UTC), or how long ago, such as 30m
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    until: Option<i64>,

    /// With a header of this name, and of this value where one is given
    #[arg(long, value_name = "NAME[=VALUE]")]
    header: Option<String>,

    /// With this text in the error's message
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,

    /// By what became of them [default: unresolved]
    #[arg(long, value_enum)]
    state: Option<StateArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StateArg {
    /// Neither replayed nor discarded
    Unresolved,
    /// Replayed or discarded
    Resolved,
    /// All
    All,
}

impl FilterArgs {
    /// The filter that is described, unless nothing can ever fit it.
    pub(in crate::cli) fn filter(&self) -> Result<Filter, CliError> {
        if let (Some(since), Some(until)) = (self.since, self.until)
            && since >= until
        {
            return Err(CliError::usage(format!(
                "nothing is published after --since ({}) and before --until ({}): exchange them, or leave one out",
                time::rfc3339(since),
                time::rfc3339(until)
            )));
        }
        Ok(self.conditions())
    }

    fn conditions(&self) -> Filter {
        Filter {
            categories: self.category.clone(),
            error_type: self.error_type.clone(),
            fingerprint: self.fingerprint.clone(),
            source_topic: self.source_topic.clone(),
            source_partition: self.source_partition,
            source_offsets: self.source_offsets.clone(),
            key: self.key.clone().map(Bytes::from).or_else(|| self.key_base64.clone()),
            since: self.since,
            until: self.until,
            header: self.header.as_deref().map(|header| match header.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(Bytes::copy_from_slice(value.as_bytes()))),
                None => (header.to_owned(), None),
            }),
            text: self.text.clone(),
            states: match self.state {
                None | Some(StateArg::Unresolved) => States::Unresolved,
                Some(StateArg::Resolved) => States::Resolved,
                Some(StateArg::All) => States::All,
            },
        }
    }

    /// Whether any condition is given, other than by what became of them.
    pub(in crate::cli) fn is_given(&self) -> bool {
        let filter = self.conditions();
        filter != Filter { states: filter.states, ..Filter::default() }
    }
}

/// Their names can be completed.
fn categories() -> impl TypedValueParser<Value = Category> {
    PossibleValuesParser::new(Category::ALL.map(Category::as_str)).try_map(|name| name.parse::<Category>())
}

fn parse_base64(text: &str) -> Result<Bytes, String> {
    let bytes = STANDARD.decode(text).map(Bytes::from);
    bytes
        .map_err(|_| "write base64 with its padding, such as azI=, which `list` shows as key_base64 in JSON".to_owned())
}

fn parse_offsets(text: &str) -> Result<Range<i64>, String> {
    let number = |text: &str, default| match text {
        "" => Ok(default),
        _ => text.parse::<i64>().map_err(|_| format!("{text:?} is no offset: write A..B, such as 100..200")),
    };
    let range = match text.split_once("..") {
        Some((from, to)) => number(from, 0)?..number(to, i64::MAX)?,
        None => {
            let one = text.parse::<i64>().ok().and_then(|from| Some(from..from.checked_add(1)?));
            one.ok_or_else(|| "write A..B, such as 100..200".to_owned())?
        }
    };
    if range.is_empty() {
        return Err(format!("no offset is in {text:?}: the second number stands after the last offset that is meant"));
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_ranges_without_their_end() {
        assert_eq!(parse_offsets("5"), Ok(5..6));
        assert_eq!(parse_offsets("5..7"), Ok(5..7));
        assert_eq!((parse_offsets("5.."), parse_offsets("..7")), (Ok(5..i64::MAX), Ok(0..7)));
        for wrong in ["", "a", "7..5", "5..5", "1..b", "9223372036854775807"] {
            assert!(parse_offsets(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn conditions_become_the_filter() {
        let args = FilterArgs { header: Some("tenant=a=b".into()), key: Some("k".into()), ..FilterArgs::default() };
        let filter = args.filter().unwrap();
        assert_eq!(filter.header, Some(("tenant".into(), Some(Bytes::from("a=b")))));
        assert_eq!(filter.key, Some(Bytes::from("k")));
        let (since, until) = (Some(7_200_000), Some(3_600_000));
        assert!(FilterArgs { since, until, ..FilterArgs::default() }.filter().unwrap_err().message.contains("--until"));
        assert!(FilterArgs { since: until, until: since, ..FilterArgs::default() }.filter().is_ok());
        assert!(args.is_given() && !FilterArgs { state: Some(StateArg::All), ..FilterArgs::default() }.is_given());
    }
}
