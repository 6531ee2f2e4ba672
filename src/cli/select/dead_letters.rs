use clap::Args;

use super::{FilterArgs, TopicArgs, parse_place};
use crate::broker::Admin;
use crate::cli::exit::CliError;
use crate::record::RecordId;
use crate::replay::Selection;

/// The dead letters that something is done to: named by place, or those of topics that a filter fits.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::cli) struct SelectArgs {
    /// Dead letters by their places (TOPIC/PARTITION/OFFSET, as `list` shows them); or dead-letter topics, names or patterns
    #[arg(value_name = "PLACE|TOPIC")]
    what: Vec<String>,

    /// The dead-letter topics of this source topic: TOPIC.dlq and TOPIC.dlq.*, as far as they exist
    #[arg(long, value_name = "TOPIC")]
    source: Vec<String>,

    /// All dead letters of the topics; without it, conditions are needed
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    filter: FilterArgs,
}

/// What is selected, as far as the command line tells.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum Selected {
    /// Dead letters by place.
    Places(Vec<RecordId>),
    /// Those of topics.
    OfTopics,
}

impl SelectArgs {
    /// Checks that exactly one way to select is used. `does` is what is done, such as "replay".
    pub(in crate::cli) fn check(&self, does: &str) -> Result<Selected, CliError> {
        let (places, topics): (Vec<&String>, Vec<&String>) = self.what.iter().partition(|what| what.contains('/'));
        let has_topics = !topics.is_empty() || !self.source.is_empty();
        if places.is_empty() && !has_topics {
            return Err(CliError::usage(format!(
                "nothing to {does} is named: give places (TOPIC/PARTITION/OFFSET, as `bezoar dlq list` shows them), or \
                 dead-letter topics by name or with --source TOPIC"
            )));
        }
        if !places.is_empty() {
            if has_topics || self.all || self.filter.is_given() {
                return Err(CliError::usage(format!(
                    "places go with neither topics nor conditions: {does} either single dead letters by place, or those of \
                     topics by conditions or --all"
                )));
            }
            let places = places.into_iter().map(|place| parse_place(place).map_err(CliError::usage));
            return places.collect::<Result<_, _>>().map(Selected::Places);
        }
        // What is wrong with conditions is said before anything is looked for.
        self.filter.filter()?;
        if self.all == self.filter.is_given() {
            return Err(CliError::usage(if self.all {
                "--all goes without conditions: leave it out to take only those that fit".to_owned()
            } else {
                format!(
                    "say which dead letters to {does}: give conditions such as --fingerprint or --category, or --all; `bezoar dlq groups` shows what there is"
                )
            }));
        }
        Ok(Selected::OfTopics)
    }

    /// The topics and the dead letters in them.
    pub(in crate::cli) async fn resolve(
        &self,
        selected: Selected,
        admin: &dyn Admin,
    ) -> Result<(Vec<String>, Selection), CliError> {
        Ok(match selected {
            Selected::Places(places) => {
                let mut topics: Vec<String> = places.iter().map(|place| place.partition.topic().to_owned()).collect();
                topics.sort();
                topics.dedup();
                (topics, Selection::These(places))
            }
            Selected::OfTopics => {
                let topics = TopicArgs { topics: self.what.clone(), source: self.source.clone() };
                (topics.resolve(admin).await?, Selection::Matching(self.filter.filter()?))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn check(line: &str) -> Result<Selected, String> {
        let command = SelectArgs::augment_args(Command::new("replay"));
        let matches = command.try_get_matches_from(line.split_whitespace()).unwrap();
        SelectArgs::from_arg_matches(&matches).unwrap().check("replay").map_err(|error| error.message)
    }

    #[test]
    fn one_way_to_select_is_used() {
        let places = ["o.dlq/0/1", "p.dlq/1/2"].map(|place| parse_place(place).unwrap());
        assert_eq!(check("replay o.dlq/0/1 p.dlq/1/2"), Ok(Selected::Places(places.into())));
        for line in
            ["replay o.dlq --all", "replay --source o --fingerprint ab", "replay 'o*' --key k", "replay o --since 1h"]
        {
            assert_eq!(check(line), Ok(Selected::OfTopics), "{line}");
        }
    }

    #[test]
    fn a_selection_that_says_too_little_or_too_much_is_refused() {
        for (line, says) in [
            ("replay", "nothing to replay is named"),
            ("replay --all", "nothing to replay is named"),
            ("replay o.dlq", "or --all"),
            ("replay o.dlq --state all", "or --all"),
            ("replay o.dlq --all --key k", "--all goes without conditions"),
            ("replay o.dlq/0/1 p.dlq", "places go with neither"),
            ("replay o.dlq/0/1 --all", "places go with neither"),
            ("replay o.dlq/0", "TOPIC/PARTITION/OFFSET"),
        ] {
            let error = check(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
