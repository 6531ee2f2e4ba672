use std::collections::BTreeMap;
use std::time::Duration;

/// The order of a run as a state machine without I/O: letters are claimed, sent and marked, at most so many at a time.
///
/// At most one write to the marks topics is under way, so that of two marks of a letter the later one is the later one in the
/// log. Letters are sent in the order in which they were found, though their claims may be confirmed in another.
#[derive(Debug)]
pub(super) struct Machine<L> {
    settings: Settings,
    letters: BTreeMap<L, Letter>,
    /// Those that are not sent yet, in the order in which they are to be.
    order: BTreeMap<u64, L>,
    found: u64,
    /// Before which time nothing may be sent.
    next_send: Duration,
    writing: bool,
    stopping: bool,
}

/// How a run goes about it. Times are since its start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// How many letters may be under way.
    pub(super) in_flight: usize,
    /// The time from one record to the next.
    pub(super) interval: Option<Duration>,
    /// How long a claim holds.
    pub(super) lease: Duration,
}

#[derive(Debug)]
struct Letter {
    phase: Phase,
    number: u64,
    /// When its claim was written last.
    claimed: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// To be claimed.
    Found,
    /// The claim is written.
    Claimed,
    /// The claim holds: to be sent.
    Ready,
    /// On its way.
    Sent,
    /// To be marked.
    Settled(Entry),
    /// Its last mark is being written.
    Ending,
}

/// What is written of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// A claim, or its renewal.
    Claim,
    /// What came of sending it.
    Result,
    /// What was there before the claim.
    Restore,
}

#[derive(Debug)]
pub(super) enum Input<L> {
    /// A letter is to be sent.
    Found(L),
    /// Nothing more is found for now.
    Lull,
    /// What was written is acknowledged.
    Written,
    /// A claim holds.
    Won(L),
    /// A claim came too late; whether the mark that counts must be written once more, since the claim lies over it.
    Lost(L, bool),
    /// A letter was sent, or could not be.
    Settled(L),
    /// Nothing more is to be sent.
    Stop,
    /// Time has passed.
    Tick,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect<L> {
    /// Write these marks.
    Write(Vec<(L, Entry)>),
    /// Send the letter.
    Send(L),
    /// The letter is done with.
    Forget(L),
}

impl<L: Ord + Clone> Machine<L> {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            letters: BTreeMap::new(),
            order: BTreeMap::new(),
            found: 0,
            next_send: Duration::ZERO,
            writing: false,
            stopping: false,
        }
    }

    /// How long a claim holds.
    pub(super) fn lease(&self) -> Duration {
        self.settings.lease
    }

    /// How many letters may be under way: no more than are sent in a second, since they are claimed for so long.
    fn limit(&self) -> usize {
        let per_second = self.settings.interval.map(|interval| 1.0 / interval.as_secs_f64());
        self.settings.in_flight.min(per_second.map_or(usize::MAX, |rate| rate.round() as usize)).max(1)
    }

    /// Whether it takes another letter.
    pub(super) fn wants_more(&self) -> bool {
        !self.stopping && self.letters.len() < self.limit()
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.letters.is_empty() && !self.writing
    }

    /// When to come again with [`Input::Tick`].
    pub(super) fn deadline(&self) -> Option<Duration> {
        let renewals = self.letters.values().filter_map(|letter| self.renewal(letter));
        let send = self.first_unsent().filter(|letter| letter.phase == Phase::Ready).map(|_| self.next_send);
        renewals.chain(send).min()
    }

    pub(super) fn step(&mut self, now: Duration, input: Input<L>) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        let mut lull = false;
        match input {
            Input::Found(letter) => {
                let number = self.found;
                self.found += 1;
                self.order.insert(number, letter.clone());
                self.letters.insert(letter, Letter { phase: Phase::Found, number, claimed: now });
            }
            Input::Lull => lull = true,
            Input::Written => self.written(&mut effects),
            Input::Won(letter) => self.set(&letter, Phase::Ready),
            Input::Lost(letter, true) => self.set(&letter, Phase::Settled(Entry::Restore)),
            Input::Lost(letter, false) => self.forget(letter, &mut effects),
            Input::Settled(letter) => self.set(&letter, Phase::Settled(Entry::Result)),
            Input::Stop => self.stopping = true,
            Input::Tick => {}
        }
        if self.stopping {
            self.let_go(&mut effects);
        }
        self.send(now, &mut effects);
        self.write(now, lull, &mut effects);
        effects
    }

    fn set(&mut self, letter: &L, phase: Phase) {
        if let Some(found) = self.letters.get_mut(letter) {
            found.phase = phase;
            if matches!(phase, Phase::Settled(_)) {
                self.order.remove(&found.number);
            }
        }
    }

    fn forget(&mut self, letter: L, effects: &mut Vec<Effect<L>>) {
        if let Some(found) = self.letters.remove(&letter) {
            self.order.remove(&found.number);
            effects.push(Effect::Forget(letter));
        }
    }

    fn written(&mut self, effects: &mut Vec<Effect<L>>) {
        self.writing = false;
        let ended: Vec<L> = self.in_phase(|phase| phase == Phase::Ending).collect();
        for letter in ended {
            self.forget(letter, effects);
        }
    }

    /// Gives up what is not sent: claims that hold are taken back.
    fn let_go(&mut self, effects: &mut Vec<Effect<L>>) {
        let unclaimed: Vec<L> = self.in_phase(|phase| phase == Phase::Found).collect();
        for letter in unclaimed {
            self.forget(letter, effects);
        }
        let ready: Vec<L> = self.in_phase(|phase| phase == Phase::Ready).collect();
        for letter in ready {
            self.set(&letter, Phase::Settled(Entry::Restore));
        }
    }

    fn in_phase(&self, wanted: impl Fn(Phase) -> bool) -> impl Iterator<Item = L> {
        self.letters.iter().filter(move |(_, letter)| wanted(letter.phase)).map(|(letter, _)| letter.clone())
    }

    fn first_unsent(&self) -> Option<&Letter> {
        self.order.values().next().and_then(|letter| self.letters.get(letter))
    }

    /// Sends what is ready, up to the first that is not.
    fn send(&mut self, now: Duration, effects: &mut Vec<Effect<L>>) {
        while let Some((_, letter)) = self.order.first_key_value()
            && let Some(found) = self.letters.get_mut(letter)
            && found.phase == Phase::Ready
            && now >= self.next_send
        {
            found.phase = Phase::Sent;
            if let Some(interval) = self.settings.interval {
                self.next_send = now + interval;
            }
            effects.extend(self.order.pop_first().map(|(_, letter)| Effect::Send(letter)));
        }
    }

    /// When a claim is to be renewed; `None` where it need not, or is just being written.
    fn renewal(&self, letter: &Letter) -> Option<Duration> {
        let held = matches!(letter.phase, Phase::Ready | Phase::Sent) && !self.writing;
        held.then(|| letter.claimed + self.settings.lease / 3)
    }

    fn write(&mut self, now: Duration, lull: bool, effects: &mut Vec<Effect<L>>) {
        if self.writing {
            return;
        }
        // Together, as far as they come together.
        let claims = lull || self.letters.len() >= self.limit();
        let of = |letter: &Letter| match letter.phase {
            Phase::Settled(entry) => Some(entry),
            Phase::Found if claims => Some(Entry::Claim),
            _ => self.renewal(letter).filter(|due| now >= *due).map(|_| Entry::Claim),
        };
        let entries: Vec<(L, Entry)> =
            self.letters.iter().filter_map(|(letter, found)| Some((letter.clone(), of(found)?))).collect();
        if entries.is_empty() {
            return;
        }
        for (letter, entry) in &entries {
            let Some(found) = self.letters.get_mut(letter) else { continue };
            match entry {
                Entry::Claim => {
                    found.claimed = now;
                    if found.phase == Phase::Found {
                        found.phase = Phase::Claimed;
                    }
                }
                Entry::Result | Entry::Restore => found.phase = Phase::Ending,
            }
        }
        self.writing = true;
        effects.push(Effect::Write(entries));
    }
}
