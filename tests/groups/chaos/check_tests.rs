//! That the check finds what it is there for: journals as they should be, and each spoilt in one way.

use std::collections::BTreeSet;

use super::check::{Facts, Findings, Rule, check, history};
use crate::instance::Fate;
use crate::journal::Entry;

/// A seed by which the first eight records of partition 0 are no dead letters, and the ninth is one.
fn seed() -> u64 {
    let fits = |seed: &u64| (0..9).all(|offset| Fate::of(*seed, 0, offset).is_deadly() == (offset == 8));
    (0..).find(fits).unwrap()
}

fn facts(end: i64) -> Facts {
    let letters = if end == 9 { BTreeSet::from([(0, 8)]) } else { BTreeSet::new() };
    Facts { seed: seed(), ends: vec![end], letters }
}

fn journal(lines: &[&str]) -> Vec<Entry> {
    lines.iter().enumerate().map(|(at, line)| format!("{at} {line}").parse().unwrap()).collect()
}

/// Two owners, each of which handles three records; the first fails once, the second repeats one that was not committed.
const GOOD: [&str; 17] = [
    "1.1 owns 0 1",
    "1.1 starts 0 0 1 1 false",
    "1.1 handled 0 0",
    "1.1 starts 0 1 1 1 false",
    "1.1 starts 0 1 2 1 false",
    "1.1 handled 0 1",
    "1.1 committed 0 2",
    "1.1 starts 0 2 1 1 false",
    "1.1 handled 0 2",
    "test killed 1.1",
    "2.1 owns 0 1",
    "2.1 starts 0 2 1 1 false",
    "2.1 handled 0 2",
    "2.1 starts 0 3 1 1 false",
    "2.1 handled 0 3",
    "2.1 committed 0 4",
    "2.1 left",
];

fn found(lines: &[&str], end: i64) -> Findings {
    check(&journal(lines), &facts(end))
}

fn rules(findings: &Findings) -> Vec<Rule> {
    findings.violations.iter().map(|violation| violation.rule).collect()
}

/// The good journal with one line replaced.
fn with(line: usize, by: &str) -> Vec<Rule> {
    let mut lines = GOOD;
    lines[line] = by;
    rules(&found(&lines, 4))
}

#[test]
fn a_good_journal_passes() {
    let findings = found(&GOOD, 4);
    assert_eq!(rules(&findings), []);
    let counts = (findings.deliveries, findings.retries, findings.repeated, findings.handovers);
    assert_eq!(counts, (6, 1, 1, 1));
}

#[test]
fn a_record_that_nobody_handled_is_found() {
    assert_eq!(rules(&found(&GOOD, 5)), [Rule::NothingLost]);
    // The commit past it is found as well.
    assert_eq!(with(14, "2.1 owns 0 2"), [Rule::Settled, Rule::NothingLost]);
    // A dead letter that should be there, and one that should not.
    let rest: Vec<String> = (4..9).map(|offset| format!("2.1 handled 0 {offset}")).collect();
    let all: Vec<&str> = GOOD.iter().copied().chain(rest.iter().map(String::as_str)).collect();
    assert_eq!(rules(&found(&all[..all.len() - 1], 9)), []);
    assert_eq!(rules(&found(&all, 9)), [Rule::NothingLost]);
    let unexpected = Facts { letters: BTreeSet::from([(0, 3)]), ..facts(4) };
    assert_eq!(rules(&check(&journal(&GOOD), &unexpected)), [Rule::NothingLost]);
}

#[test]
fn a_swap_and_a_gap_are_found() {
    assert_eq!(with(7, "1.1 starts 0 0 1 1 false"), [Rule::Order]);
    assert_eq!(with(7, "1.1 starts 0 3 1 1 false"), [Rule::Order]);
    assert_eq!(with(4, "1.1 starts 0 1 1 1 false"), [Rule::Order]);
    // Attempts begin anew with each ownership.
    assert_eq!(with(11, "2.1 starts 0 2 2 1 false"), [Rule::Order]);
}

#[test]
fn an_ownership_that_begins_elsewhere_than_at_the_watermark_is_found() {
    assert_eq!(with(11, "2.1 starts 0 1 1 1 false"), [Rule::Watermark, Rule::Order]);
    let skipping = ["1.1 starts 0 0 1 1 false", "2.1 starts 0 1 1 1 false"];
    assert_eq!(rules(&found(&skipping, 0)), [Rule::Watermark]);
}

#[test]
fn a_commit_past_a_record_in_flight_is_found() {
    assert_eq!(with(6, "1.1 committed 0 3"), [Rule::Settled, Rule::Watermark]);
}

/// What begins past the lease or the fence once is chance, twice is not.
#[test]
fn an_owner_that_goes_on_past_its_end_is_found() {
    let with_two = |line: &str| {
        let mut lines: Vec<&str> = GOOD.to_vec();
        lines.insert(13, line);
        assert_eq!(rules(&found(&lines, 4)), []);
        lines.insert(13, line);
        rules(&found(&lines, 4))
    };
    assert_eq!(with_two("1.1 starts 0 3 1 1 false"), [Rule::OneOwner, Rule::OneOwner]);
    assert_eq!(with_two("1.1 starts 0 3 1 1 true"), [Rule::Lease, Rule::Lease]);
    assert_eq!(with_two("1.1 sends-letter 0 2 false"), [Rule::OneOwner, Rule::OneOwner]);
    assert_eq!(with_two("1.1 sends-letter 0 2 true"), [Rule::Lease, Rule::Lease]);
    let lost = [&GOOD[..3], &["1.1 lost 0", "1.1 starts 0 1 1 1 false", "1.1 starts 0 1 1 1 false"]].concat();
    assert_eq!(rules(&found(&lost, 1)), [Rule::Fence, Rule::Fence]);
    // The same process may own it again.
    let again = [&GOOD[..3], &["1.1 lost 0", "1.1 owns 0 2", "1.1 starts 0 1 1 2 false", "1.1 handled 0 1"]].concat();
    assert_eq!(rules(&found(&again, 2)), []);
}

#[test]
fn an_instance_that_stops_by_itself_is_found() {
    assert_eq!(with(16, "2.1 halted for no reason"), [Rule::GoesOn]);
}

#[test]
fn a_history_shows_what_led_to_it() {
    let mut lines = GOOD;
    lines[7] = "1.1 starts 0 0 1 1 false";
    let spoilt = journal(&lines);
    let findings = check(&spoilt, &facts(4));
    let text = history(&spoilt, &findings.violations[0]);
    assert!(text.contains("=> 7: 7 1.1 starts 0 0 1 1 false"), "{text}");
    assert!(text.contains("6 1.1 committed 0 2") && text.contains("test killed 1.1"), "{text}");
}
