//! What became of dead letters, in words; where a flag helps, by its name.

use crate::cli::output::count;
use crate::record::RecordId;
use crate::replay::{Outcome, Progress, Skip};

/// What became of one dead letter, for people.
pub(super) fn line(progress: &Progress) -> String {
    let at = &progress.at;
    let warning = progress.warning.as_ref().map_or_else(String::new, |warning| format!(" (warning: {warning})"));
    match &progress.outcome {
        Outcome::Success(to) => format!("{at}: sent to {to}{warning}"),
        Outcome::Failed(reason) => format!("{at}: failed: {}", failure(reason)),
        Outcome::Skipped(Skip::DryRun(target)) => format!("{at}: would be sent to {target}{warning}"),
        Outcome::Skipped(skip) => format!("{at}: left: {}", left(skip)),
    }
}

/// Why one failed.
pub(super) fn failure(reason: &str) -> String {
    reason.replace(", or name another target", ", or name another target by --to")
}

/// Whether one failed for the reason that there is none at its place.
pub(super) fn is_missing(progress: &Progress) -> bool {
    matches!(&progress.outcome, Outcome::Failed(reason) if *reason == format!("there is no dead letter at {}", progress.at))
}

/// Why one was left.
pub(super) fn left(skip: &Skip) -> String {
    match skip {
        Skip::NotAllowed(target) => format!("target {target:?} is not allowed: allow it by --allow-target {target}"),
        Skip::NoSource => "its source is not known: name a target by --to, and allow it by --allow-target".to_owned(),
        Skip::Parked(times) => {
            format!("parked: replayed {times} times already; raise --max-replays to replay it once more")
        }
        _ => skip.to_string(),
    }
}

/// Why they were left, in words that are the same for all of a kind.
pub(super) fn kind(skip: &Skip) -> String {
    match skip {
        Skip::DryRun(_) => "dry run".to_owned(),
        Skip::Resolved(_) => "resolved already (--again replays them)".to_owned(),
        Skip::Claimed(_) => {
            "claimed by another run: should that have died, run the command again in half a minute".to_owned()
        }
        Skip::Parked(_) => "parked: replayed as often as is allowed (--max-replays)".to_owned(),
        Skip::NotAllowed(target) => format!("their target {target} is not allowed (--allow-target {target})"),
        Skip::NoSource => "their source is not known (--to, --allow-target)".to_owned(),
    }
}

/// Dead letters that may be in their target twice, for people.
pub(super) fn doubled(maybe_doubled: &[RecordId]) -> Option<String> {
    /// At most so many are named.
    const NAMED: usize = 5;
    if maybe_doubled.is_empty() {
        return None;
    }
    let mut text = format!(
        "{} may be in the target topic twice, since an earlier run ended while it sent them:",
        count(maybe_doubled.len() as u64, "dead letter")
    );
    for at in maybe_doubled.iter().take(NAMED) {
        text.push_str(&format!("\n  {at}"));
    }
    if maybe_doubled.len() > NAMED {
        text.push_str(&format!("\n  … and {} more (-o json has all)", maybe_doubled.len() - NAMED));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::select::parse_place;

    #[test]
    fn few_of_many_that_may_be_doubled_are_named() {
        let places: Vec<_> = (0..97).map(|offset| parse_place(&format!("o.dlq/0/{offset}")).unwrap()).collect();
        assert_eq!(doubled(&[]), None);
        let five = doubled(&places[..5]).unwrap();
        assert!(five.starts_with("5 dead letters may be") && five.ends_with("\n  o.dlq/0/4"), "{five}");
        let all = doubled(&places).unwrap();
        assert_eq!(all.lines().count(), 7, "{all}");
        assert!(all.ends_with("\n  o.dlq/0/4\n  … and 92 more (-o json has all)"), "{all}");
    }

    #[test]
    fn flags_are_named_where_they_help() {
        assert!(left(&Skip::NotAllowed("secret".into())).ends_with("allow it by --allow-target secret"));
        assert!(left(&Skip::NoSource).contains("--to"));
        assert!(left(&Skip::Parked(3)).contains("--max-replays"));
        assert_eq!(failure("create it, or name another target"), "create it, or name another target by --to");
        assert_eq!(failure("no"), "no");
    }
}
