//! Members that come, go and fall silent at random: no request is forgotten, and in the end all are of one generation.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;
use proptest::prelude::*;

use super::super::{Answer, Client, GroupSettings, Groups, Ticket};
use super::{Claimed, Classic, Join, Joined, Sync};

#[derive(Debug, Clone, Copy)]
enum Event {
    /// Does what its client would do next.
    Act(usize),
    /// Its client gives up what it waits for, and begins anew.
    Restart(usize),
    Leave(usize),
    Expire(usize),
    Pass(u64),
}

/// A member as its client sees it.
#[derive(Debug, Default)]
struct Instance {
    member_id: StrBytes,
    is_static: bool,
    joined: Option<Joined>,
    is_synced: bool,
    waits_for: Option<Ticket>,
}

struct World {
    groups: Groups,
    instances: Vec<Instance>,
    now: Duration,
    asked: HashSet<Ticket>,
    names: u32,
}

const GROUP: &str = "fulfilment";

impl World {
    fn instance_id(&self, at: usize) -> Option<StrBytes> {
        self.instances[at].is_static.then(|| StrBytes::from_string(format!("instance-{at}")))
    }

    fn act(&mut self, at: usize) {
        if self.instances[at].waits_for.is_some() {
            return;
        }
        match &self.instances[at] {
            Instance { joined: None, .. } => self.join(at),
            Instance { is_synced: false, .. } => self.sync(at),
            _ => self.heartbeat(at),
        }
    }

    fn join(&mut self, at: usize) {
        let ticket = self.groups.ticket();
        self.names += 1;
        let join = Join {
            ticket,
            version: 9,
            member_id: self.instances[at].member_id.clone(),
            new_member_id: StrBytes::from_string(format!("member-{}", self.names)),
            instance_id: self.instance_id(at),
            client: Client::default(),
            session_timeout: Duration::from_secs(10),
            rebalance_timeout: Duration::from_secs(20),
            protocol_type: StrBytes::from_static_str("consumer"),
            protocols: vec![(StrBytes::from_static_str("range"), Bytes::new())],
        };
        self.asked.insert(ticket);
        self.instances[at].waits_for = Some(ticket);
        self.groups.join(self.now, GROUP, join);
    }

    fn sync(&mut self, at: usize) {
        let instance_id = self.instance_id(at);
        let ticket = self.groups.ticket();
        let Some(joined) = self.instances[at].joined.clone() else { return };
        let everything = Bytes::from_static(b"everything");
        let sync = Sync {
            ticket,
            claimed: Claimed {
                member_id: &joined.member_id,
                instance_id: instance_id.as_deref(),
                generation: joined.generation,
            },
            protocol_type: None,
            protocol: None,
            assignments: joined.members.iter().map(|(id, ..)| (&**id, &everything)).collect(),
        };
        self.asked.insert(ticket);
        self.instances[at].waits_for = Some(ticket);
        let taken = self.groups.with_classic(self.now, GROUP, |classic, turn| classic.sync(turn, sync));
        if let Err(error) = taken {
            self.groups.answer(ticket, Answer::Sync(Err(error)));
        }
    }

    fn heartbeat(&mut self, at: usize) {
        let instance_id = self.instance_id(at);
        let Some(joined) = self.instances[at].joined.clone() else { return };
        let claimed = Claimed {
            member_id: &joined.member_id,
            instance_id: instance_id.as_deref(),
            generation: joined.generation,
        };
        let beat = |classic: &mut Classic, turn: &mut super::Turn<'_>| classic.heartbeat(turn, claimed);
        if let Err(error) = self.groups.with_classic(self.now, GROUP, beat).and_then(|beaten| beaten) {
            self.refused(at, error);
        }
    }

    fn refused(&mut self, at: usize, error: ResponseError) {
        let instance = &mut self.instances[at];
        (instance.joined, instance.is_synced) = (None, false);
        if matches!(error, ResponseError::UnknownMemberId | ResponseError::FencedInstanceId) {
            instance.member_id = StrBytes::new();
        }
    }

    fn restart(&mut self, at: usize) {
        let is_static = self.instances[at].is_static;
        self.instances[at] = Instance { is_static, ..Instance::default() };
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Act(at) => self.act(at),
            Event::Restart(at) => self.restart(at),
            Event::Leave(at) => {
                let (id, instance_id) = (self.instances[at].member_id.clone(), self.instance_id(at));
                // An error where it is no member, which it may not know.
                let _ = self.groups.leave(self.now, GROUP, &id, instance_id.as_deref());
                self.restart(at);
            }
            Event::Expire(at) => {
                let id = self.instances[at].member_id.clone();
                self.groups.expire(self.now, GROUP, &id);
            }
            Event::Pass(seconds) => {
                self.now += Duration::from_secs(seconds);
                self.groups.advance(self.now);
            }
        }
    }

    /// Hands out answers; each request gets one.
    fn deliver(&mut self) -> Result<(), TestCaseError> {
        for (ticket, answer) in self.groups.take_answers() {
            prop_assert!(self.asked.remove(&ticket), "answered twice");
            let Some(at) = self.instances.iter().position(|one| one.waits_for == Some(ticket)) else { continue };
            self.instances[at].waits_for = None;
            match answer {
                Answer::Join(Ok(joined)) => {
                    self.instances[at].member_id = joined.member_id.clone();
                    (self.instances[at].joined, self.instances[at].is_synced) = (Some(joined), false);
                }
                Answer::Join(Err(refused)) if refused.error == ResponseError::MemberIdRequired => {
                    self.instances[at].member_id = refused.member_id;
                }
                Answer::Sync(Ok(synced)) => {
                    prop_assert_eq!(&synced.assignment[..], b"everything");
                    self.instances[at].is_synced = true;
                }
                Answer::Join(Err(refused)) => self.refused(at, refused.error),
                Answer::Sync(Err(error)) => self.refused(at, error),
            }
        }
        Ok(())
    }
}

fn event() -> impl Strategy<Value = Event> {
    let at = 0usize..4;
    prop_oneof![
        12 => at.clone().prop_map(Event::Act),
        1 => at.clone().prop_map(Event::Restart),
        1 => at.clone().prop_map(Event::Leave),
        1 => at.prop_map(Event::Expire),
        2 => (1u64..25).prop_map(Event::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_request_is_forgotten_and_all_end_up_in_one_generation(events in prop::collection::vec(event(), 0..80)) {
        let instances = (0..4).map(|at| Instance { is_static: at == 3, ..Instance::default() }).collect();
        let groups = Groups::new(GroupSettings::default());
        let mut world = World { groups, instances, now: Duration::ZERO, asked: HashSet::new(), names: 0 };
        for event in events {
            world.happen(event);
            world.deliver()?;
        }
        // From here on they all behave.
        for _ in 0..120 {
            for at in 0..4 {
                world.happen(Event::Act(at));
                world.deliver()?;
            }
            world.happen(Event::Pass(1));
            world.deliver()?;
        }
        let mut generations = HashMap::new();
        for instance in &world.instances {
            prop_assert!(instance.is_synced);
            *generations.entry(instance.joined.as_ref().map(|joined| joined.generation)).or_insert(0) += 1;
        }
        prop_assert_eq!(generations.len(), 1);
        prop_assert_eq!(world.groups.get(GROUP).map(|group| group.members.state()), Some("Stable"));
        prop_assert!(world.asked.is_empty());
    }
}
