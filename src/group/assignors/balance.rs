use std::collections::{BTreeMap, VecDeque};

use super::Subscribed;

/// Partitions on their way to an even division. The division is as even as it can be when no chain of moves (one member gives a
/// partition to a second, that one another partition to a third…) takes from a member to one that has two fewer. What
/// nobody holds is moved first: so a round that only hands out what was given up in the round before moves nothing else.
pub(super) struct Balance<'a> {
    topics: &'a [Subscribed],
    /// Per topic and partition: who holds it and may keep it.
    stay: Vec<Vec<Option<usize>>>,
    /// Per topic and partition: to whom it goes.
    owners: Vec<Vec<usize>>,
    /// Per member: how many partitions it gets.
    loads: Vec<usize>,
    /// Per member and topic: what it gets.
    held: Vec<BTreeMap<usize, Held>>,
}

/// What a member gets of a topic: partition numbers.
#[derive(Debug, Default)]
struct Held {
    /// Those that it holds already.
    kept: Vec<usize>,
    /// Those that it does not hold yet: to give them to another costs nothing.
    new: Vec<usize>,
}

/// How a member was reached on the way from a crowded one: from whom, through which topic.
type Step = (usize, usize);

impl<'a> Balance<'a> {
    pub(super) fn new(members: usize, topics: &'a [Subscribed], stay: Vec<Vec<Option<usize>>>) -> Self {
        let owners = stay.iter().map(|partitions| vec![usize::MAX; partitions.len()]).collect();
        let held = (0..members).map(|_| BTreeMap::new()).collect();
        Self { topics, stay, owners, loads: vec![0; members], held }
    }

    /// Per topic and partition: to whom it goes.
    pub(super) fn settle(mut self) -> Vec<Vec<usize>> {
        let mut open = Vec::new();
        for topic in 0..self.topics.len() {
            for number in 0..self.stay[topic].len() {
                match self.stay[topic][number] {
                    Some(member) => self.give(topic, number, member),
                    None => open.push((topic, number)),
                }
            }
        }
        // Those with the least choice first.
        open.sort_by_key(|&(topic, number)| (self.topics[topic].by.len(), topic, number));
        for (topic, number) in open {
            let emptiest = self.topics[topic].by.iter().copied().min_by_key(|&member| (self.loads[member], member));
            if let Some(member) = emptiest {
                self.give(topic, number, member);
            }
        }
        self.even_out(false);
        self.even_out(true);
        self.owners
    }

    /// Moves partitions until no chain makes it more even; those that their holders could keep only if `all`.
    fn even_out(&mut self, all: bool) {
        // From these no chain was found; one may have opened since, so they are tried again at the end.
        let mut stuck = vec![false; self.loads.len()];
        let mut moved = false;
        loop {
            let least = self.loads.iter().copied().min().unwrap_or(0);
            let crowded = (0..self.loads.len()).filter(|&member| !stuck[member] && self.loads[member] > least + 1);
            // Always the most crowded to the emptiest: so nobody gives away what it would then lack.
            match crowded.max_by_key(|&member| self.loads[member]) {
                Some(member) => match self.chain(member, all) {
                    Some(chain) => {
                        for (from, topic, to) in chain {
                            self.pass_on(from, topic, to, all);
                        }
                        moved = true;
                    }
                    None => stuck[member] = true,
                },
                None if std::mem::take(&mut moved) => stuck.fill(false),
                None => return,
            }
        }
    }

    /// The shortest chain of moves from `crowded` to a member that has at least two fewer; of several ends, the emptiest.
    fn chain(&self, crowded: usize, all: bool) -> Option<Vec<(usize, usize, usize)>> {
        let mut reached: Vec<Option<Step>> = vec![None; self.loads.len()];
        let mut seen_topics = vec![false; self.topics.len()];
        let mut level = VecDeque::from([crowded]);
        let mut left = self.loads.len() - 1;
        while !level.is_empty() && left > 0 {
            let mut next = VecDeque::new();
            for from in level {
                for (&topic, held) in &self.held[from] {
                    let movable = !held.new.is_empty() || all && !held.kept.is_empty();
                    if left == 0 || !movable || std::mem::replace(&mut seen_topics[topic], true) {
                        continue;
                    }
                    for &to in &self.topics[topic].by {
                        if to != crowded && reached[to].is_none() {
                            reached[to] = Some((from, topic));
                            next.push_back(to);
                            left -= 1;
                        }
                    }
                }
            }
            let emptiest = next.iter().copied().min_by_key(|&member| (self.loads[member], member));
            if let Some(end) = emptiest.filter(|&member| self.loads[member] + 2 <= self.loads[crowded]) {
                return Some(back(&reached, end));
            }
            level = next;
        }
        None
    }

    fn pass_on(&mut self, from: usize, topic: usize, to: usize, all: bool) {
        let Some(held) = self.held[from].get_mut(&topic) else { return };
        let stay = &self.stay[topic];
        // Best one that comes home, then one that nobody holds, then one that its holder could have kept.
        let home = held.new.iter().position(|&number| stay[number] == Some(to));
        let number = match home {
            Some(place) => Some(held.new.remove(place)),
            None => held.new.pop().or_else(|| if all { held.kept.pop() } else { None }),
        };
        if let Some(number) = number {
            self.loads[from] -= 1;
            self.give(topic, number, to);
        }
    }

    fn give(&mut self, topic: usize, number: usize, member: usize) {
        let held = self.held[member].entry(topic).or_default();
        if self.stay[topic][number] == Some(member) {
            held.kept.push(number);
        } else {
            held.new.push(number);
        }
        self.owners[topic][number] = member;
        self.loads[member] += 1;
    }
}

/// The moves that lead to `end`, last one first, so that nobody is without what it passes on.
fn back(reached: &[Option<Step>], end: usize) -> Vec<(usize, usize, usize)> {
    let mut chain = Vec::new();
    let mut to = end;
    while let Some((from, topic)) = reached[to] {
        chain.push((from, topic, to));
        to = from;
    }
    chain
}
