use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::Rng;
use rand::seq::IteratorRandom;

use super::super::coordinator::Token;
use super::{ALL, Event, Node, World};
use crate::group::classic::ClassicMember;
use crate::group::machine::{Input, Request};
use crate::group::settings::GroupSettings;

impl World {
    /// Starts a process where there is room.
    pub(in super::super) fn start(&mut self) {
        let free = |place: &usize| self.nodes.values().all(|node| node.place != *place);
        if let Some(place) = (0..5).find(free) {
            self.start_at(place);
        }
    }

    /// Starts one more process: so the group divides anew.
    pub(in super::super) fn start_another(&mut self) {
        self.start_at(5);
    }

    pub(super) fn start_at(&mut self, place: usize) {
        let mut wants: BTreeSet<String> =
            ALL.iter().filter(|_| self.random.random_bool(0.7)).map(|it| (*it).to_owned()).collect();
        wants.insert("b".to_owned());
        let instance_id = (self.statics && place.is_multiple_of(2)).then(|| format!("i{place}"));
        let member = ClassicMember::new(GroupSettings { instance_id, ..self.settings.clone() }, self.random.random());
        let node = Node {
            member,
            wants,
            looks_at: BTreeSet::new(),
            owned: BTreeSet::new(),
            lease: None,
            identity: None,
            open: BTreeMap::new(),
            cut_until: self.now,
            place,
            losses: 0,
            steps: 0,
        };
        self.started += 1;
        let index = self.started;
        self.log.push(format!("{:?} start {index}", self.now - self.base));
        self.nodes.insert(index, node);
        self.at(1, Event::Look(index, true));
        self.at(500, Event::Commit(index));
    }

    pub(super) fn any(&mut self) -> Option<usize> {
        self.nodes.keys().copied().choose(&mut self.random)
    }

    /// A process is killed.
    pub(in super::super) fn kill(&mut self) {
        if let Some(index) = self.any() {
            self.log.push(format!("{:?} kill {index}", self.now - self.base));
            self.nodes.remove(&index);
        }
    }

    /// A process stops as it should: everything is given up, then it leaves.
    pub(in super::super) fn leave(&mut self) {
        if let Some(index) = self.any() {
            if let Some(node) = self.nodes.get_mut(&index) {
                node.owned.clear();
            }
            self.step(index, Input::Leave);
        }
    }

    /// A process cannot reach the coordinator for a while; what is under way may or may not have arrived.
    pub(in super::super) fn cut(&mut self) {
        let Some(index) = self.any() else { return };
        let length = self.soon(25_000);
        self.log.push(format!("{:?} cut {index} for {length} ms", self.now - self.base));
        let Some(node) = self.nodes.get_mut(&index) else { return };
        node.cut_until = self.now + Duration::from_millis(length);
        let open: Vec<(Token, Request)> = node.open.iter().map(|(token, request)| (*token, request.clone())).collect();
        for (token, request) in open {
            self.drop_connection(index, token, &request);
        }
        self.at(length, Event::Uncut);
    }

    /// The coordinator moves to another broker.
    pub(in super::super) fn fail_over(&mut self) {
        // What became of a static member in a rebalance that is not over is forgotten; it would be taken for its predecessor.
        if self.statics && !self.coordinator.is_stable() {
            return;
        }
        self.log.push(format!("{:?} coordinator moves", self.now - self.base));
        self.coordinator.go_down();
        let length = self.soon(6_000);
        self.at(length, Event::Back);
    }

    pub(in super::super) fn change_topics(&mut self) {
        let name = ALL.iter().copied().choose(&mut self.random).unwrap_or("a").to_owned();
        let more = self.random.random_range(1..3);
        if name == "d" && self.counts.remove("d").is_some() {
            return;
        }
        *self.counts.entry(name).or_insert(0) += more;
    }
}
