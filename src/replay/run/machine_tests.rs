use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::machine::{Effect, Entry, Input, Machine, Settings};

const LEASE: Duration = Duration::from_secs(30);

/// A machine, and what the world around it has still to say.
struct World {
    machine: Machine<u32>,
    now: Duration,
    limit: usize,
    next: u32,
    total: u32,
    write: Option<Vec<(u32, Entry)>>,
    /// Claims that were written, and not read back.
    claims: BTreeSet<u32>,
    won: BTreeSet<u32>,
    sending: BTreeSet<u32>,
    sent: Vec<u32>,
    settled: BTreeSet<u32>,
    lost: BTreeMap<u32, bool>,
    /// Letters with a claim in the log that is not taken back or followed by a result.
    claimed: BTreeMap<u32, Duration>,
    ended: Vec<u32>,
    stopped: bool,
}

impl World {
    fn new(settings: Settings, limit: usize, total: u32) -> Self {
        Self {
            machine: Machine::new(settings),
            now: Duration::ZERO,
            limit,
            next: 0,
            total,
            write: None,
            claims: BTreeSet::new(),
            won: BTreeSet::new(),
            sending: BTreeSet::new(),
            sent: Vec::new(),
            settled: BTreeSet::new(),
            lost: BTreeMap::new(),
            claimed: BTreeMap::new(),
            ended: Vec::new(),
            stopped: false,
        }
    }

    fn step(&mut self, input: Input<u32>) {
        for effect in self.machine.step(self.now, input) {
            match effect {
                Effect::Write(entries) => {
                    assert!(self.write.is_none(), "one write at a time");
                    for (letter, entry) in &entries {
                        match entry {
                            Entry::Claim => {
                                assert!(
                                    !self.stopped || self.sending.contains(letter),
                                    "{letter} is claimed after the end"
                                );
                                if self.claimed.insert(*letter, self.now).is_none() {
                                    self.claims.insert(*letter);
                                } else {
                                    assert!(self.won.contains(letter), "{letter} is renewed though it is not held");
                                }
                            }
                            Entry::Result => assert!(self.settled.contains(letter)),
                            Entry::Restore => {
                                let held = self.won.contains(letter) && self.stopped;
                                assert!(held || self.lost.get(letter) == Some(&true), "{letter}");
                                assert!(!self.sent.contains(letter));
                            }
                        }
                    }
                    self.write = Some(entries);
                }
                Effect::Send(letter) => {
                    assert!(self.won.contains(&letter), "{letter} is sent without a claim");
                    assert!(!self.stopped, "{letter} is sent after the end");
                    assert!(self.sent.last().is_none_or(|last| *last < letter), "{letter} after {:?}", self.sent);
                    self.sent.push(letter);
                    self.sending.insert(letter);
                }
                Effect::Forget(letter) => {
                    assert!(!self.ended.contains(&letter));
                    self.ended.push(letter);
                }
            }
        }
        let under_way = self.claimed.len();
        assert!(under_way <= self.limit, "{under_way} letters are claimed, {} may be", self.limit);
    }

    /// Something happens that can, chosen by a number; time goes by.
    fn act(&mut self, choice: u8, which: u8, millis: u64) {
        self.now += Duration::from_millis(millis);
        let pick = |set: &BTreeSet<u32>| set.iter().nth(usize::from(which) % set.len().max(1)).copied();
        match choice % 7 {
            0 if self.machine.wants_more() && self.next < self.total => {
                let letter = self.next;
                self.next += 1;
                self.step(Input::Found(letter));
            }
            1 => self.step(Input::Lull),
            2 => {
                let Some(entries) = self.write.take() else { return };
                for (letter, entry) in entries {
                    if entry != Entry::Claim {
                        self.claimed.remove(&letter);
                    }
                }
                self.step(Input::Written);
            }
            3 => {
                let Some(letter) = pick(&self.claims) else { return };
                self.claims.remove(&letter);
                match which % 8 {
                    0 => {
                        self.claimed.remove(&letter);
                        self.lost.insert(letter, false);
                        self.step(Input::Lost(letter, false));
                    }
                    1 => {
                        self.lost.insert(letter, true);
                        self.step(Input::Lost(letter, true));
                    }
                    _ => {
                        self.won.insert(letter);
                        self.step(Input::Won(letter));
                    }
                }
            }
            4 => {
                let Some(letter) = pick(&self.sending) else { return };
                self.sending.remove(&letter);
                self.settled.insert(letter);
                self.step(Input::Settled(letter));
            }
            5 => self.step(Input::Tick),
            _ => {}
        }
    }
}

fn settings(in_flight: usize, per_second: Option<u32>) -> (Settings, usize) {
    let interval = per_second.map(|rate| Duration::from_secs(1) / rate);
    let limit = in_flight.min(per_second.map_or(usize::MAX, |rate| rate as usize));
    (Settings { in_flight, interval, lease: LEASE }, limit)
}

proptest! {
    #[test]
    fn every_letter_is_sent_once_and_in_order_or_let_go(
        in_flight in 1..8usize,
        rate in prop::option::of(1..20u32),
        total in 0..20u32,
        stop_at in prop::option::of(0..300usize),
        acts in prop::collection::vec((any::<u8>(), any::<u8>(), 0..200u64), 0..300),
    ) {
        let (settings, limit) = settings(in_flight, rate);
        let mut world = World::new(settings, limit, total);
        for (index, (choice, which, millis)) in acts.into_iter().enumerate() {
            if stop_at == Some(index) {
                world.stopped = true;
                world.step(Input::Stop);
            }
            world.act(choice, which, millis);
        }
        // Then all that can still happen does.
        for round in 0..100 * (total + 1) {
            if world.machine.is_idle() && (world.next == total || world.stopped) {
                break;
            }
            for choice in 0..6 {
                world.act(choice, 7, 200);
            }
            prop_assert!(round < 100 * total, "it does not end");
        }
        prop_assert!(world.claimed.is_empty());
        let mut ended = world.ended.clone();
        ended.sort_unstable();
        prop_assert_eq!(ended, (0..world.next).collect::<Vec<_>>());
        for letter in 0..world.next {
            let is_sent = world.sent.contains(&letter);
            prop_assert_eq!(is_sent, world.settled.contains(&letter));
            if !world.stopped {
                prop_assert_eq!(is_sent, !world.lost.contains_key(&letter));
            }
        }
    }

    #[test]
    fn claims_are_renewed_long_before_they_end(steps in prop::collection::vec(1..9_000u64, 1..60)) {
        let (settings, limit) = settings(3, None);
        let mut world = World::new(settings, limit, 3);
        for _ in 0..3 {
            world.act(0, 0, 0);
        }
        world.act(1, 0, 0);
        world.act(2, 0, 0);
        for _ in 0..3 {
            world.act(3, 7, 0);
        }
        prop_assert_eq!(world.sent.len(), 3);
        for millis in steps {
            // Whoever drives it comes when it said, or earlier.
            let due = world.machine.deadline().unwrap();
            let step = Duration::from_millis(millis).min(due.saturating_sub(world.now));
            world.now += step;
            world.step(Input::Tick);
            world.act(2, 0, 0);
            for claimed in world.claimed.values() {
                prop_assert!(world.now - *claimed <= LEASE / 3);
            }
        }
    }
}

#[test]
fn a_rate_spaces_what_is_sent() {
    let (settings, limit) = settings(10, Some(10));
    let mut world = World::new(settings, limit, 10);
    for _ in 0..10 {
        world.act(0, 0, 0);
    }
    world.act(2, 0, 0);
    for _ in 0..10 {
        world.act(3, 7, 0);
    }
    assert_eq!(world.sent, [0]);
    assert_eq!(world.machine.deadline(), Some(Duration::from_millis(100)));
    world.act(5, 0, 99);
    assert_eq!(world.sent, [0]);
    world.act(5, 0, 1);
    assert_eq!(world.sent, [0, 1]);
}

#[test]
fn few_are_claimed_where_few_are_sent() {
    let (settings, _) = settings(100, Some(3));
    let mut machine = Machine::new(settings);
    let mut taken = 0;
    while machine.wants_more() {
        machine.step(Duration::ZERO, Input::Found(taken));
        taken += 1;
    }
    assert_eq!(taken, 3);
}
