use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

use super::found::{Letter, Letters};
use super::job::{Decision, Job, now, prepare};
use super::ledger::{At, Claim, Ledger};
use super::machine::{Effect, Entry, Input, Machine, Settings};
use super::targets::Targets;
use crate::broker::{BoxFuture, BrokerError};
use crate::producer::{Produced, Producer, ProducerError};
use crate::record::RecordId;
use crate::replay::marks::{Mark, Outcome as Marked, Place};
use crate::replay::{DeadLetters, Outcome, Progress, ReplayError, ReplayOptions, ReplayReport, Selection, Skip, State};

/// How many letters are looked at before it is looked whether anything else is to be done.
const AT_ONCE: usize = 64;
/// How long the marks that were written may take to be read back.
const READ_BACK: Duration = Duration::from_secs(60);
/// Below this a claim would be over before the letter is sent.
const LEAST_LEASE: Duration = Duration::from_secs(1);

/// Replays the letters that are meant.
pub(in crate::replay) async fn replay(
    letters: &DeadLetters,
    selection: &Selection,
    options: &ReplayOptions,
    progress: impl FnMut(&Progress) + Send,
) -> Result<ReplayReport, ReplayError> {
    let ledger = Ledger::read(&letters.ports, &topics(letters, selection)).await?;
    let found = Letters::find((&letters.ports, &ledger), selection, options.again).await?;
    let lease = options.claim_lease.max(LEAST_LEASE);
    let settings = Settings {
        in_flight: options.in_flight.get() as usize,
        interval: options.rate.map(|rate| Duration::from_secs(1) / rate.get()),
        lease,
    };
    let driver = Driver {
        run: letters,
        options,
        lease: i64::try_from(lease.as_millis()).unwrap_or(i64::MAX),
        targets: Targets::new(Arc::clone(&letters.ports.admin)),
        producer: Producer::new(letters.ports.clone(), Handle::current()),
        ledger,
        found,
        exhausted: false,
        machine: Machine::new(settings),
        jobs: BTreeMap::new(),
        sends: FuturesUnordered::new(),
        write: None,
        started: Instant::now(),
        waiting: None,
        report: ReplayReport::default(),
        progress,
    };
    driver.run().await
}

/// The topics that hold the letters that are meant.
pub(super) fn topics(letters: &DeadLetters, selection: &Selection) -> Vec<Arc<str>> {
    let Selection::These(places) = selection else { return letters.topics.clone() };
    let mut topics: Vec<Arc<str>> = places.iter().map(|place| place.partition.shared_topic()).collect();
    topics.sort_unstable();
    topics.dedup();
    topics
}

type Sending = BoxFuture<(At, Result<Produced, ProducerError>)>;

/// Carries out what the [`Machine`] says.
struct Driver<'a, F> {
    run: &'a DeadLetters,
    options: &'a ReplayOptions,
    lease: i64,
    ledger: Ledger,
    found: Letters,
    exhausted: bool,
    targets: Targets,
    producer: Producer,
    machine: Machine<At>,
    jobs: BTreeMap<At, Job>,
    sends: FuturesUnordered<Sending>,
    write: Option<BoxFuture<Result<(), BrokerError>>>,
    started: Instant,
    /// Since when nothing was heard of claims that were written.
    waiting: Option<Instant>,
    report: ReplayReport,
    progress: F,
}

/// What happens next.
enum Event {
    Sent(At, Result<Produced, ProducerError>),
    Written(Result<(), BrokerError>),
    Claimed(Result<Vec<(At, Claim)>, ReplayError>),
    Found(Result<Option<Letter>, ReplayError>),
    Tick,
}

impl<F: FnMut(&Progress) + Send> Driver<'_, F> {
    async fn run(mut self) -> Result<ReplayReport, ReplayError> {
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

    /// Takes letters as long as there are some without waiting; whether there are none.
    async fn look(&mut self) -> Result<bool, ReplayError> {
        for _ in 0..AT_ONCE {
            if !self.wants_more() {
                return Ok(self.exhausted);
            }
            let Some(found) = self.found.next().now_or_never() else { return Ok(true) };
            self.take(found?).await?;
        }
        Ok(false)
    }

    fn wants_more(&self) -> bool {
        !self.exhausted && self.machine.wants_more()
    }

    async fn event(&mut self) -> Result<Event, ReplayError> {
        if !self.ledger.is_waiting() || self.write.is_some() {
            self.waiting = None;
        } else if *self.waiting.get_or_insert_with(Instant::now) + READ_BACK < Instant::now() {
            let doing = "reading back what was written to the topics for replay marks".to_owned();
            return Err(BrokerError::Timeout { doing, after: READ_BACK }.into());
        }
        let deadline = self.machine.deadline().map(|deadline| self.started + deadline);
        let deadline = deadline.into_iter().chain(self.waiting.map(|since| since + READ_BACK)).min();
        let (wants_more, waits) = (self.wants_more(), self.ledger.is_waiting());
        let written = async {
            match &mut self.write {
                Some(write) => write.await,
                None => pending().await,
            }
        };
        let tick = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => pending().await,
            }
        };
        Ok(tokio::select! {
            Some((at, result)) = self.sends.next(), if !self.sends.is_empty() => Event::Sent(at, result),
            result = written => Event::Written(result),
            claims = self.ledger.claimed(), if waits => Event::Claimed(claims),
            letter = self.found.next(), if wants_more => Event::Found(letter),
            () = tick => Event::Tick,
        })
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
        }
        Ok(())
    }

    /// Decides what is to be done with a letter.
    async fn take(&mut self, letter: Option<Letter>) -> Result<(), ReplayError> {
        let (topic, entry) = match letter {
            None => {
                self.exhausted = true;
                return Ok(());
            }
            Some(Letter::Missing(at)) => {
                let reason = format!("there is no dead letter at {at}");
                self.fail((at, None), reason, None).await;
                return Ok(());
            }
            Some(Letter::There(topic, entry)) => (topic, *entry),
        };
        let place = Place::new(entry.at.partition.partition(), entry.at.offset);
        if !self.found.include(&self.ledger.marks(topic).state(place.partition, place.offset)) {
            return Ok(());
        }
        let at = (topic, place);
        let whose = (entry.at.clone(), entry.letter.id());
        let context = (&mut self.ledger, &mut self.targets);
        match prepare(&self.run.ports, context, self.options, (at, entry)).await? {
            Decision::Skip(skip, target) => self.tell(whose, target, Outcome::Skipped(skip), (None, false)),
            Decision::Fail(reason, target) => self.fail(whose, reason, target).await,
            Decision::Send(job) => {
                self.ledger.open(topic).await?;
                self.jobs.insert(at, *job);
                self.step(Input::Found(at)).await;
            }
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

    async fn fail(&mut self, whose: (RecordId, Option<String>), reason: String, target: Option<String>) {
        self.tell(whose, target, Outcome::Failed(reason), (None, false));
        self.stop_if_told().await;
    }

    async fn stop_if_told(&mut self) {
        if self.options.stop_at_first_error && !self.report.stopped {
            self.report.stopped = true;
            self.step(Input::Stop).await;
        }
    }

    /// Gives the machine an input and carries out what follows.
    async fn step(&mut self, input: Input<At>) {
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
            Entry::Restore => job.before.clone(),
        };
        if entry == Entry::Claim && job.claimed.replace(Instant::now()).is_none() {
            self.ledger.expect(at, job.known.clone());
        }
        // It is this run that says so now.
        Some((at, mark.map(|mark| Mark { run: self.ledger.run.clone(), ..mark })))
    }

    fn tell(
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
