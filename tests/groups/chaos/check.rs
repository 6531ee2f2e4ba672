//! What must hold of a trial's journal, whatever happened in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::instance::Fate;
use crate::journal::{Entry, What};

/// How many calls of handlers or of the producing port may begin past the lease, or past the fence, in one trial. A process
/// that is stopped (by SIGSTOP, or by a busy machine) in the few instructions between the look at its lease and the call
/// goes on with the call: no program can help that. It takes so much chance that a second one in the same trial is taken
/// for a look that is not there.
const STRADDLES: usize = 1;

/// What is known of a trial beside its journal.
pub(crate) struct Facts {
    pub(crate) seed: u64,
    /// The end of each partition's log.
    pub(crate) ends: Vec<i64>,
    /// What the dead-letter topic holds, by source.
    pub(crate) letters: BTreeSet<(i32, i64)>,
}

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) rule: Rule,
    pub(crate) partition: Option<i32>,
    /// The line of the journal, 0-based.
    pub(crate) line: usize,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Every record is handled, or has its dead letter, whichever is its fate.
    NothingLost,
    /// Within an ownership first attempts ascend one by one, and a retry repeats the record before.
    Order,
    /// An ownership begins at the committed watermark.
    Watermark,
    /// A commit passes only what is settled.
    Settled,
    /// Once another owner has begun, the one before begins nothing.
    OneOwner,
    /// Nothing begins once the lease is over.
    Lease,
    /// Nothing begins once the partition was said to be lost.
    Fence,
    /// No instance stops by itself.
    GoesOn,
}

/// How much happened.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) violations: Vec<Violation>,
    pub(crate) straddles: Vec<Violation>,
    pub(crate) deliveries: usize,
    pub(crate) retries: usize,
    /// First deliveries of records that were handled, or dead-lettered, before.
    pub(crate) repeated: usize,
    /// How often another ownership took a partition over.
    pub(crate) handovers: usize,
    pub(crate) lost: usize,
    pub(crate) letters: usize,
}

pub(crate) fn check(journal: &[Entry], facts: &Facts) -> Findings {
    let mut checker = Checker { facts, partitions: BTreeMap::new(), findings: Findings::default() };
    for (line, entry) in journal.iter().enumerate() {
        checker.entry(line, entry);
    }
    checker.end(journal.len());
    let mut findings = checker.findings;
    if findings.straddles.len() > STRADDLES {
        findings.violations.append(&mut findings.straddles);
    }
    findings
}

/// Whose: process and number.
type Owner<'a> = (&'a str, u64);

#[derive(Default)]
struct Partition<'a> {
    handled: BTreeSet<i64>,
    letters: BTreeSet<i64>,
    /// Everything below it is settled.
    settled_to: i64,
    committed: i64,
    /// Who was called last.
    current: Option<Owner<'a>>,
    /// Those before.
    retired: BTreeSet<Owner<'a>>,
    /// The ownerships that were lost.
    lost: BTreeSet<Owner<'a>>,
    /// Of each ownership, the record delivered last: offset and attempt.
    last: BTreeMap<Owner<'a>, (i64, u32)>,
}

impl Partition<'_> {
    fn is_settled(&self, offset: i64) -> bool {
        self.handled.contains(&offset) || self.letters.contains(&offset)
    }

    /// The first offset below `end` that is not settled.
    fn unsettled_below(&mut self, end: i64) -> Option<i64> {
        while self.is_settled(self.settled_to) {
            self.settled_to += 1;
        }
        (self.settled_to < end).then_some(self.settled_to)
    }
}

struct Checker<'a> {
    facts: &'a Facts,
    partitions: BTreeMap<i32, Partition<'a>>,
    findings: Findings,
}

impl<'a> Checker<'a> {
    fn entry(&mut self, line: usize, entry: &'a Entry) {
        let who = entry.who.as_str();
        match &entry.what {
            What::Starts { partition, offset, attempt, ownership, late } => {
                self.starts(line, *partition, (who, *ownership), (*offset, *attempt), *late);
            }
            What::Handled { partition, offset } => drop(self.partition(*partition).handled.insert(*offset)),
            What::Letter { partition, offset } => {
                self.findings.letters += 1;
                self.partition(*partition).letters.insert(*offset);
            }
            What::SendsLetter { partition, offset, late } => {
                let taken = self.partition(*partition).current.is_some_and(|(current, _)| current != who);
                let text = format!("{who} sent the dead letter of {offset}");
                if *late {
                    self.straddles(Rule::Lease, *partition, line, format!("{text} after its lease"));
                } else if taken {
                    self.straddles(Rule::OneOwner, *partition, line, format!("{text} after another had begun"));
                }
            }
            What::Committed { partition, offset } => {
                let state = self.partition(*partition);
                state.committed = state.committed.max(*offset);
                if let Some(unsettled) = state.unsettled_below(*offset) {
                    let text = format!("{who} committed {offset}, and {unsettled} is not settled");
                    self.violates(Rule::Settled, *partition, line, text);
                }
            }
            What::Lost { partition } => {
                self.findings.lost += 1;
                let state = self.partition(*partition);
                let known: Vec<_> = state.last.keys().filter(|owner| owner.0 == who).copied().collect();
                state.lost.extend(known);
            }
            What::Halted(reason) => {
                let text = format!("{who} stopped by itself: {reason}");
                self.findings.violations.push(Violation { rule: Rule::GoesOn, partition: None, line, text });
            }
            What::Owns { .. }
            | What::Left
            | What::Killed(_)
            | What::Stopped(_)
            | What::Continued(_)
            | What::Note(_) => {}
        }
    }

    fn starts(&mut self, line: usize, partition: i32, owner: Owner<'a>, (offset, attempt): (i64, u32), late: bool) {
        let name = format!("{}, ownership {},", owner.0, owner.1);
        self.findings.deliveries += 1;
        self.findings.retries += usize::from(attempt > 1);
        let state = self.partition(partition);
        let (retired, lost) = (state.retired.contains(&owner), state.lost.contains(&owner));
        let (before, committed, repeats) = (state.last.get(&owner).copied(), state.committed, state.is_settled(offset));
        // What stands apart from the rest: it is judged by this alone.
        if late {
            return self.straddles(Rule::Lease, partition, line, format!("{name} began {offset} after its lease"));
        }
        if retired {
            return self.straddles(
                Rule::OneOwner,
                partition,
                line,
                format!("{name} began {offset} after another had begun"),
            );
        }
        if lost {
            return self.straddles(Rule::Fence, partition, line, format!("{name} began {offset} after it was lost"));
        }
        self.findings.repeated += usize::from(repeats && attempt == 1);
        match before {
            Some((last, attempts)) => {
                let next = offset == last + 1 && attempt == 1;
                let again = offset == last && attempt == attempts + 1;
                if !next && !again {
                    let text = format!("{name} began {offset} (attempt {attempt}) after {last} (attempt {attempts})");
                    self.violates(Rule::Order, partition, line, text);
                }
            }
            None => {
                if attempt != 1 {
                    let text = format!("{name} began with attempt {attempt} of {offset}");
                    self.violates(Rule::Order, partition, line, text);
                }
                if offset < committed {
                    let text = format!("{name} began at {offset}, below the committed {committed}");
                    self.violates(Rule::Watermark, partition, line, text);
                }
                if let Some(unsettled) = self.partition(partition).unsettled_below(offset) {
                    let text = format!("{name} began at {offset}, and {unsettled} is not settled");
                    self.violates(Rule::Watermark, partition, line, text);
                }
            }
        }
        let state = self.partition(partition);
        state.last.insert(owner, (offset, attempt));
        if state.current != Some(owner) {
            let others = state.current.replace(owner);
            state.retired.extend(others);
            self.findings.handovers += usize::from(others.is_some());
        }
    }

    /// What must hold once all is drained.
    fn end(&mut self, line: usize) {
        for (partition, end) in (0..).zip(&self.facts.ends) {
            for offset in 0..*end {
                let deadly = Fate::of(self.facts.seed, partition, offset).is_deadly();
                let handled = self.partition(partition).handled.contains(&offset);
                let letter = self.facts.letters.contains(&(partition, offset));
                let text = match (deadly, handled, letter) {
                    (false, true, false) | (true, false, true) => continue,
                    (_, false, false) => format!("{offset} is neither handled nor dead-lettered"),
                    (true, true, _) => format!("{offset} was handled, which cannot be"),
                    (false, _, true) => format!("{offset} was dead-lettered and can be handled"),
                };
                self.violates(Rule::NothingLost, partition, line, text);
            }
        }
    }

    fn partition(&mut self, number: i32) -> &mut Partition<'a> {
        self.partitions.entry(number).or_default()
    }

    fn violates(&mut self, rule: Rule, partition: i32, line: usize, text: String) {
        self.findings.violations.push(Violation { rule, partition: Some(partition), line, text });
    }

    fn straddles(&mut self, rule: Rule, partition: i32, line: usize, text: String) {
        self.findings.straddles.push(Violation { rule, partition: Some(partition), line, text });
    }
}

/// What led to a violation, briefly: the lines about its partition, and what the test did.
pub(crate) fn history(journal: &[Entry], violation: &Violation) -> String {
    let concerns = |entry: &Entry| match entry.what.partition() {
        Some(partition) => Some(partition) == violation.partition,
        None => true,
    };
    let numbered = journal.iter().enumerate().filter(|(_, entry)| concerns(entry));
    let (before, after): (Vec<_>, Vec<_>) = numbered.partition(|(line, _)| *line <= violation.line);
    let mut text = format!("{:?}, partition {:?}: {}\n", violation.rule, violation.partition, violation.text);
    for (line, entry) in before[before.len().saturating_sub(25)..].iter().chain(after.iter().take(4)) {
        let mark = if *line == violation.line { "=>" } else { "  " };
        let _ = writeln!(text, "{mark} {line}: {entry}");
    }
    text
}
