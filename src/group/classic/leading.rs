use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::protocol::{Subscription, encode_assignment};
use super::{ClassicMember, Phase};
use crate::broker::JoinedMember;
use crate::group::assignors::{self, Subscriber};
use crate::group::machine::{Effect, Topics};
use crate::group::settings::Assignor;
use crate::record::TopicPartition;

/// How long metadata of other members' topics is waited for; what is not known by then is divided when it is.
const LOOK: Duration = Duration::from_secs(5);

/// What the leader knows of the group.
#[derive(Debug)]
pub(super) struct Lead {
    members: Vec<Subscriber>,
    /// The coordinator has the assignment already.
    skip: bool,
}

impl Lead {
    pub(super) fn new(members: Vec<JoinedMember>, skip: bool) -> Self {
        Self { members: members.into_iter().map(subscriber).collect(), skip }
    }

    fn topics(&self) -> BTreeSet<&String> {
        self.members.iter().flat_map(|member| &member.topics).collect()
    }
}

/// What a leader remembers of what it divided.
#[derive(Debug)]
pub(super) struct Divided {
    /// How many partitions the topics of all members had.
    pub(super) counts: BTreeMap<String, Option<i32>>,
    /// When to have all join again if nothing else did. Where a partition went to nobody, its holder is to give it up and join;
    /// but a static one that comes back does not make the group rebalance. Nor does a static leader, which does not know what
    /// changed while it was away.
    pub(super) again_at: Option<Instant>,
}

/// Reads what a member wants. One that cannot be understood gets nothing, rather than keep all others from their work.
fn subscriber(member: JoinedMember) -> Subscriber {
    let read = Subscription::decode(&member.subscription);
    if let Err(cause) = &read {
        tracing::warn!(
            member = member.member_id,
            "a member's subscription cannot be read, it gets no partitions: {cause}"
        );
    }
    let (topics, owned, generation) =
        read.map_or_else(|_| (BTreeSet::new(), Vec::new(), -1), |it| (it.topics, it.owned, it.generation));
    Subscriber { member_id: member.member_id, instance_id: member.instance_id, topics, owned, generation }
}

impl ClassicMember {
    pub(super) fn start_leading(&mut self, now: Instant, lead: Lead, assignor: Assignor, effects: &mut Vec<Effect>) {
        let unknown = |name: &&String| self.topics.as_ref().is_none_or(|topics| !topics.contains_key(*name));
        let others: Vec<String> =
            lead.topics().into_iter().filter(|name| !self.joined_with.contains(*name)).cloned().collect();
        let complete = !others.iter().any(|name| unknown(&name));
        if !others.is_empty() {
            effects.push(Effect::LookAtTopics(others));
        }
        self.phase = Phase::Looking { until: now + LOOK, lead, assignor };
        if complete {
            self.lead(now, true, effects);
        }
    }

    /// Takes what metadata says.
    pub(super) fn know(&mut self, now: Instant, topics: Topics, effects: &mut Vec<Effect>) {
        self.topics = Some(topics);
        match &self.phase {
            // Nothing was read yet, or there is nothing to share in.
            Phase::Waiting if self.subscribed().is_empty() => {}
            Phase::Waiting => self.rejoin(now, "a new member"),
            Phase::Looking { .. } => self.lead(now, true, effects),
            _ => {}
        }
    }

    /// Divides the partitions, once metadata is `complete` or has been waited for long enough.
    pub(super) fn lead(&mut self, now: Instant, complete: bool, effects: &mut Vec<Effect>) {
        let Phase::Looking { until, lead, assignor } = &self.phase else { return };
        if !complete && now < *until {
            return;
        }
        let assignor = *assignor;
        let counts: BTreeMap<String, Option<i32>> =
            lead.topics().into_iter().map(|name| (name.clone(), self.count(name))).collect();
        let (assignment, whole) = if lead.skip {
            (assignors::Assignment::new(), false)
        } else {
            let known: assignors::Counts =
                counts.iter().filter_map(|(name, count)| Some((name.clone(), (*count)?))).collect();
            let assignment = assignors::assign(assignor, &lead.members, &known);
            let given: usize = assignment.values().map(Vec::len).sum();
            let all: usize = known.values().filter_map(|count| usize::try_from(*count).ok()).sum();
            (assignment, given == all)
        };
        let again_at = (self.cooperative && !whole).then(|| now + self.settings.rebalance_timeout);
        let encode =
            |(member, partitions): (String, Vec<TopicPartition>)| Ok((member, encode_assignment(&partitions)?));
        match assignment.into_iter().map(encode).collect() {
            Ok(assignments) => {
                self.divided = Some(Divided { counts, again_at });
                self.phase = Phase::Syncing { at: now, assignments, assignor };
            }
            Err::<_, String>(cause) => {
                let group = &self.settings.group;
                self.fail(format!("leading group {group}: the assignment cannot be written: {cause}"), effects);
            }
        }
    }
}
