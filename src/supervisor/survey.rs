use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ractor::ActorRef;
use uuid::Uuid;

use super::actor::SupervisorActor;
use super::message::SupervisorMessage;
use crate::broker::{BrokerError, Ports};
use crate::event::{Event, Events};
use crate::group::{Subscription, TopicInfo};
use crate::offsets::OffsetReset;
use crate::policy::Backoff;
use crate::record::TopicPartition;

/// Waits between attempts to ask the broker.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(250), 2.0, Duration::from_secs(5));

/// What there was before this member joined. It tells partitions that are new to the group, all of whose records are to be
/// processed, from those at which the group itself is new, where the reset policy says what to skip.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Survey {
    topics: BTreeMap<String, Topic>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Topic {
    /// `None` where the broker does not tell.
    id: Option<Uuid>,
    partitions: i32,
    /// Whether the group had a committed offset of any partition.
    consumed: bool,
}

impl Survey {
    /// Where a partition without committed offset starts.
    ///
    /// One that is certainly new (its topic, or itself, came after the survey) starts at its start. So does one of a topic
    /// that the group had consumed before, where the policy would skip what is there: partitions were added since. With
    /// `none` that remains an error, since its offset may have been lost as well.
    pub(super) fn policy(&self, partition: &TopicPartition, id: Option<Uuid>, policy: OffsetReset) -> OffsetReset {
        match self.topics.get(partition.topic()) {
            None => OffsetReset::Earliest,
            // Deleted since, and created anew.
            Some(topic) if topic.id.is_some() && id.is_some() && topic.id != id => OffsetReset::Earliest,
            Some(topic) if partition.partition() >= topic.partitions => OffsetReset::Earliest,
            Some(topic) if topic.consumed && policy == OffsetReset::Latest => OffsetReset::Earliest,
            Some(_) => policy,
        }
    }

    async fn take(ports: &Ports, group: &str, subscription: &Subscription) -> Result<Self, BrokerError> {
        let found = subscription.look(&*ports.admin, &BTreeSet::new()).await?;
        let mut partitions = Vec::new();
        for (topic, info) in &found {
            let name: std::sync::Arc<str> = topic.as_str().into();
            partitions.extend((0..info.partitions).map(|partition| TopicPartition::new(name.clone(), partition)));
        }
        let committed = match partitions.is_empty() {
            true => Vec::new(),
            false => ports.offsets.fetch(group.to_owned(), partitions).await?,
        };
        let consumed: BTreeSet<&str> = committed.iter().flatten().map(|offset| offset.partition.topic()).collect();
        let topics = found.iter().map(|(name, &TopicInfo { id, partitions, .. })| {
            (name.clone(), Topic { id, partitions, consumed: consumed.contains(name.as_str()) })
        });
        Ok(Self { topics: topics.collect() })
    }
}

impl SupervisorActor {
    /// Looks at what there is before this member joins; answered by [`SupervisorMessage::Surveyed`].
    pub(super) fn survey(&self, myself: &ActorRef<SupervisorMessage>) {
        let Some(plan) = &self.settings.membership else { return };
        let (ports, group, events) = (self.ports.clone(), self.settings.group.clone(), self.events.clone());
        let (subscription, myself) = (plan.subscription.clone(), myself.clone());
        tokio::spawn(async move {
            let result = until_taken(&ports, &group, &subscription, &events, &myself).await;
            let _ = myself.cast(SupervisorMessage::Surveyed(result));
        });
    }
}

/// Tries for as long as the broker may come back.
async fn until_taken(
    ports: &Ports,
    group: &str,
    subscription: &Subscription,
    events: &Events,
    supervisor: &ActorRef<SupervisorMessage>,
) -> Result<Survey, String> {
    let mut failures = 0;
    loop {
        let error = match Survey::take(ports, group, subscription).await {
            Ok(survey) => return Ok(survey),
            Err(error) => error,
        };
        let reason = format!("group {group} cannot be joined: {error}");
        if !error.is_retriable() || supervisor.get_status() > ractor::ActorStatus::Running {
            return Err(reason);
        }
        if failures == 0 {
            events.emit(Event::GroupTrouble { reason });
        }
        failures += 1;
        tokio::time::sleep(BACKOFF.delay(failures, rand::random())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_to_the_group_starts_at_its_start_whatever_the_policy() {
        let id = Uuid::from_u128;
        let topic = |partitions, consumed| Topic { id: Some(id(1)), partitions, consumed };
        let topics = [("orders".to_owned(), topic(2, true)), ("refunds".to_owned(), topic(2, false))];
        let survey = Survey { topics: topics.into() };
        let of = |topic: &str, partition, id, policy| survey.policy(&TopicPartition::new(topic, partition), id, policy);
        let policy = |topic: &str, partition, policy| of(topic, partition, Some(id(1)), policy);
        use OffsetReset::{Earliest, Latest, None};
        // The group begins with this topic.
        assert_eq!([Earliest, Latest, None].map(|given| policy("refunds", 1, given)), [Earliest, Latest, None]);
        // Partitions were added to one that it knew.
        assert_eq!([Earliest, Latest, None].map(|given| policy("orders", 1, given)), [Earliest, Earliest, None]);
        // Partitions and topics that came later.
        assert_eq!([Latest, None].map(|given| policy("refunds", 2, given)), [Earliest; 2]);
        assert_eq!([Latest, None].map(|given| policy("bills", 0, given)), [Earliest; 2]);
        // One that was created anew, by its id where both are known.
        assert_eq!([Latest, None].map(|given| of("refunds", 0, Some(id(2)), given)), [Earliest; 2]);
        assert_eq!(of("refunds", 0, Option::None, Latest), Latest);
    }
}
