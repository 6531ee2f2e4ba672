use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use super::events::Event;
use super::found::Letters;
use super::job::{Job, now};
use super::ledger::{At, Claim, Ledger};
use super::machine::{Effect, Entry, Input, Machine};
use super::start::Asked;
use super::targets::Targets;
use crate::broker::{BoxFuture, BrokerError};
use crate::producer::{Produced, Producer, ProducerError};
use crate::record::RecordId;
use crate::replay::marks::{Mark, Outcome as Marked};
use crate::replay::{DeadLetters, Outcome, Progress, ReplayError, ReplayOptions, ReplayReport, Selection, Skip, State};

/// The topics that hold the letters that are meant.
pub(super) fn topics(letters: &DeadLetters, selection: &Selection) -> Vec<Arc<str>> {
    let Selection::These(places) = selection else { return letters.topics.clone() };
    let mut topics: Vec<Arc<str>> = places.iter().map(|place| place.partition.shared_topic()).collect();
    topics.sort_unstable();
    topics.dedup();
    topics
}

pub(super) type Sending = BoxFuture<(At, Result<Produced, ProducerError>)>;

/// Carries out what the [`Machine`] says.
pub(super) struct Driver<'a, F> {
    pub(super) run: &'a DeadLetters,
    pub(super) options: &'a ReplayOptions,
    pub(super) lease: i64,
    pub(super) ledger: Ledger,
    pub(super) found: Letters,
    pub(super) exhausted: bool,
    pub(super) targets: Targets,
    pub(super) producer: Producer,
    pub(super) machine: Machine<At>,
    pub(super) jobs: BTreeMap<At, Job>,
    pub(super) sends: FuturesUnordered<Sending>,
    pub(super) write: Option<BoxFuture<Result<(), BrokerError>>>,
    pub(super) started: Instant,
    /// Since when nothing was heard of claims that were written.
    pub(super) waiting: Option<Instant>,
    /// Asks the run to end, until it has.
    pub(super) asked: Option<Asked<'a>>,
    pub(super) report: ReplayReport,
    pub(super) progress: F,
}

impl<F: FnMut(&Progress) + Send> Driver<'_, F> {
    pub(super) async fn run(mut self) -> Result<ReplayReport, ReplayError> {
        loop {
            let lull = self.look().await?;
            self.step(if lull { Input::Lull } else { Input::Tick }).await;
            if self.machine.is_idle() && (self.exhausted || self.report.stopped) {
                self.report.unreadable = self.found.unreadable();
                return Ok(self.report);
            }
            let event = self.event().await?;
            self.meet(event).await?;
        }
    }

    async fn meet(&mut self, event: Event) -> Result<(), ReplayError> {
        match event {
            Event::Sent(at, result) => self.sent(at, result).await,
            Event::Written(result) => {
                self.write = None;
                result?;
                self.step(Input::Written).await;
            }
            Event::Claimed(claims) => {
                self.waiting = None;
                for (at, claim) in claims? {
                    self.claimed(at, claim).await;
                }
            }
            Event::Found(letter) => self.take(letter?).await?,
            Event::Tick => self.step(Input::Tick).await,
            Event::Asked => self.stop_as_asked().await,
        }
        Ok(())
    }

    async fn claimed(&mut self, at: At, claim: Claim) {
        let Claim::Lost(state) = claim else { return self.step(Input::Won(at)).await };
        let Some(job) = self.jobs.get_mut(&at) else { return };
        job.is_lost = true;
        let (whose, target) = ((job.at.clone(), job.id.clone()), Some(job.target().to_string()));
        let skip = match &state {
            State::Claimed { run, .. } => Skip::Claimed(run.to_string()),
            state => Skip::Resolved(state.result().unwrap_or_default()),
        };
        self.tell(whose, target, Outcome::Skipped(skip), (None, false));
        self.step(Input::Lost(at, state.is_resolved())).await;
    }

    async fn sent(&mut self, at: At, result: Result<Produced, ProducerError>) {
        let Some(job) = self.jobs.get_mut(&at) else { return };
        let target = job.target().clone();
        let (marked, outcome, is_there) = match result {
            Ok(Produced { partition, offset }) => {
                let to = RecordId { topic_id: None, partition, offset };
                if offset < 0 {
                    // Nobody knows where.
                    job.lineage.doubt(target.clone());
                }
                (Marked::Replayed { to: to.clone() }, Outcome::Success(to), true)
            }
            Err(error) => {
                let unknown = error.is_retriable() || error == ProducerError::Closed;
                let mut reason = format!("it could not be sent to {target}: {error}");
                if unknown {
                    job.lineage.doubt(target.clone());
                    reason.push_str(" (it may be there all the same)");
                }
                (Marked::Failed { reason: reason.clone() }, Outcome::Failed(reason), unknown)
            }
        };
        let failed = matches!(outcome, Outcome::Failed(_));
        job.outcome = Some(marked);
        let whose = (job.at.clone(), job.id.clone());
        let told = (job.warning.take(), job.in_doubt);
        if job.in_doubt && is_there {
            self.report.maybe_doubled.push(job.at.clone());
        }
        self.tell(whose, Some(target.to_string()), outcome, told);
        self.step(Input::Settled(at)).await;
        if failed {
            self.stop_if_told().await;
        }
    }

    pub(super) async fn fail(&mut self, whose: (RecordId, Option<String>), reason: String, target: Option<String>) {
        self.tell(whose, target, Outcome::Failed(reason), (None, false));
        self.stop_if_told().await;
    }

    async fn stop_if_told(&mut self) {
        if self.options.stop_at_first_error && !self.report.stopped {
            self.report.stopped = true;
            self.step(Input::Stop).await;
        }
    }

    /// Nothing is claimed or sent from now on, and what was claimed and not sent is taken back.
    pub(super) async fn stop_as_asked(&mut self) {
        let Some(asked) = self.asked.take() else { return };
        self.report.stopped = true;
        self.step(Input::Stop).await;
        let under_way = self.sends.len();
        tracing::info!(under_way, "asked to stop: nothing more is replayed than what is under way");
        (asked.heard)(under_way as u64);
    }

    /// Gives the machine an input and carries out what follows.
    pub(super) async fn step(&mut self, input: Input<At>) {
        let mut effects = self.machine.step(self.started.elapsed(), input);
        while !effects.is_empty() {
            let mut more = Vec::new();
            for effect in effects {
                match effect {
                    Effect::Write(entries) => {
                        let marks = entries.into_iter().filter_map(|(at, entry)| self.mark(at, entry)).collect();
                        self.write = Some(Box::pin(self.ledger.write(marks)));
                    }
                    Effect::Send(at) => more.extend(self.send(at).await),
                    Effect::Forget(at) => {
                        self.jobs.remove(&at);
                    }
                }
            }
            effects = more;
        }
    }

    /// Hands a record over to be sent.
    async fn send(&mut self, at: At) -> Vec<Effect<At>> {
        let Some(record) = self.jobs.get_mut(&at).and_then(|job| job.record.take()) else { return Vec::new() };
        let sending: Sending = match self.producer.enqueue(record).await {
            Ok(enqueued) => Box::pin(async move { (at, enqueued.acknowledged().await) }),
            Err(error) => Box::pin(async move { (at, Err(error)) }),
        };
        self.sends.push(sending);
        Vec::new()
    }

    /// The mark that is to be written of a letter, and where.
    fn mark(&mut self, at: At, entry: Entry) -> Option<(At, Option<Mark>)> {
        let job = self.jobs.get_mut(&at)?;
        let marks = self.ledger.marks(at.0);
        // Another run may have the letter by now, and may have sent it: then nothing but that this one has sent it, too, is news.
        // What would undo that must be there before the lease is over, and a write takes its time.
        let age = job.claimed.map_or(Duration::ZERO, |claimed| claimed.elapsed());
        let lease = self.machine.lease();
        let is_over = age > if entry == Entry::Claim { lease } else { lease * 2 / 3 };
        let of = |job: &Job, outcome| Mark {
            topic_id: marks.topic_id(),
            replayed_at: matches!(outcome, Marked::Replayed { .. }).then(now),
            outcome,
            run: self.ledger.run.clone(),
            lineage: Some(job.lineage.clone()),
        };
        let mark = match entry {
            Entry::Restore if job.is_lost => marks.mark(at.1, marks.topic_id(), &self.ledger.run),
            Entry::Result if matches!(job.outcome, Some(Marked::Replayed { .. })) => {
                Some(of(job, job.outcome.clone()?))
            }
            _ if is_over => return None,
            Entry::Claim => Some(of(job, Marked::Claimed { lease: self.lease, again: self.options.again })),
            Entry::Result => Some(of(job, job.outcome.clone()?)),
            Entry::Restore => job.before.clone().map(over_at_once),
        };
        if entry == Entry::Claim && job.claimed.replace(Instant::now()).is_none() {
            self.ledger.expect(at, job.known.clone());
        }
        // It is this run that says so now.
        Some((at, mark.map(|mark| Mark { run: self.ledger.run.clone(), ..mark })))
    }

    pub(super) fn tell(
        &mut self,
        (at, id): (RecordId, Option<String>),
        target: Option<String>,
        outcome: Outcome,
        (warning, maybe_doubled): (Option<String>, bool),
    ) {
        self.report.count(&outcome);
        let progress = Progress { at, id, target, outcome, warning, maybe_doubled };
        progress.log();
        (self.progress)(&progress);
    }
}

/// A claim of a run that died stays, for the doubt that it leaves, but nobody need wait for its end once more.
fn over_at_once(mark: Mark) -> Mark {
    match mark.outcome {
        Marked::Claimed { again, .. } => Mark { outcome: Marked::Claimed { lease: 0, again }, ..mark },
        _ => mark,
    }
}
