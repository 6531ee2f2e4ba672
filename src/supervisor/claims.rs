use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use ractor::ActorRef;
use uuid::Uuid;

use super::actor::SupervisorActor;
use super::membership::Membership;
use super::message::{Assignment, ClaimKey, Resolved, SupervisorMessage};
use super::state::SupervisorState;
use super::survey::Survey;
use crate::broker::{CommittedOffset, Ports};
use crate::event::Event;
use crate::group::Tenure;
use crate::offsets::{Beginning, OffsetReset, ResolveError, choose};
use crate::partition::TopicName;
use crate::policy::Backoff;
use crate::record::TopicPartition;

/// Waits between attempts to find start offsets.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(200), 2.0, Duration::from_secs(10));

/// A partition that the group assigned and whose start offset is being looked for. Nothing of it is handled or committed.
pub(super) struct Claim {
    number: u64,
    topic_id: Option<Uuid>,
    topic_index: usize,
    /// From when it was assigned: the lease may be another one by the time that the start is known.
    tenure: Tenure,
    /// Who looks for the offset stops once this is gone.
    _wanted: Arc<()>,
}

/// A claim as the task knows it that looks for its start offset.
struct Sought {
    key: ClaimKey,
    topic_id: Option<Uuid>,
    wanted: Weak<()>,
}

type Myself = ActorRef<SupervisorMessage>;

impl SupervisorActor {
    /// Claims partitions that the group assigned: finds out where they start.
    pub(super) fn claim(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        assigned: Vec<(TopicPartition, Option<Uuid>)>,
    ) {
        let (draining, partitions) = (state.drain.is_some(), &mut state.partitions);
        let Some(membership) = state.membership.as_mut().filter(|_| !draining) else { return };
        let mut sought = Vec::new();
        for (partition, topic_id) in assigned {
            if let Some(managed) = partitions.get_mut(&partition) {
                if let Some(leaving) = &mut managed.leaving {
                    leaving.again = Some(topic_id);
                }
                continue;
            }
            if membership.claims.contains_key(&partition) {
                continue;
            }
            let names = self.topics.iter().map(|plan| &plan.matches);
            let Some(topic_index) = TopicName::find(names, partition.topic()) else {
                let reason = format!("the group assigned {partition}, which this consumer does not subscribe to");
                self.events.emit(Event::GroupTrouble { reason });
                continue;
            };
            let wanted = Arc::new(());
            let number = membership.next_claim();
            sought.push(Sought {
                key: ClaimKey { partition: partition.clone(), number },
                topic_id,
                wanted: Arc::downgrade(&wanted),
            });
            membership.claims.insert(
                partition,
                Claim { number, topic_id, topic_index, tenure: membership.lease.tenure(), _wanted: wanted },
            );
        }
        if sought.is_empty() {
            return;
        }
        let search = Search {
            ports: self.ports.clone(),
            group: self.settings.group.clone(),
            policy: self.settings.offset_reset,
            survey: Arc::clone(&membership.survey),
            supervisor: myself.clone(),
        };
        tokio::spawn(search.run(sought));
    }

    /// Takes partitions whose start is known, unless they were given up meanwhile.
    pub(super) fn resolved(&self, myself: &Myself, state: &mut SupervisorState, resolved: Vec<Resolved>) {
        let mut assignments = Vec::new();
        for Resolved { key: ClaimKey { partition, number }, result } in resolved {
            let Some(membership) = &mut state.membership else { return };
            let Some(claim) = membership.take_claim(&partition, number) else { continue };
            match result {
                Ok(beginning) => assignments.push(Assignment {
                    partition,
                    topic_id: claim.topic_id,
                    topic_index: claim.topic_index,
                    reset: !beginning.committed,
                    beginning,
                    tenure: Some(claim.tenure),
                }),
                Err(reason) => return self.halt(myself, state, reason),
            }
        }
        self.open(myself, state, assignments);
    }
}

impl Membership {
    fn take_claim(&mut self, partition: &TopicPartition, number: u64) -> Option<Claim> {
        self.claims.get(partition).filter(|claim| claim.number == number)?;
        self.claims.remove(partition)
    }
}

/// Looks for start offsets; reads only.
struct Search {
    ports: Ports,
    group: String,
    policy: OffsetReset,
    survey: Arc<Survey>,
    supervisor: Myself,
}

impl Search {
    /// Goes on for as long as the broker may answer and the partitions are wanted. One that cannot be asked about holds up
    /// no other.
    async fn run(self, mut sought: Vec<Sought>) {
        let mut failures = 0;
        loop {
            sought.retain(|sought| sought.wanted.strong_count() > 0);
            if sought.is_empty() {
                return;
            }
            let found = self.look(&sought).await;
            let mut resolved = Vec::new();
            let mut again = Vec::new();
            let mut trouble = None;
            for (sought, found) in sought.into_iter().zip(found) {
                match found {
                    Err(ResolveError::Broker(error)) if error.is_retriable() => {
                        trouble = Some(error);
                        again.push(sought);
                    }
                    Err(error) => {
                        let reason = format!("{} cannot be processed: {error}", sought.key.partition);
                        resolved.push(Resolved { key: sought.key, result: Err(reason) });
                    }
                    Ok(beginning) => resolved.push(Resolved { key: sought.key, result: Ok(beginning) }),
                }
            }
            if !resolved.is_empty() && self.supervisor.cast(SupervisorMessage::Resolved(resolved)).is_err() {
                return;
            }
            sought = again;
            if let Some(error) = trouble {
                failures += 1;
                let wait = BACKOFF.delay(failures, rand::random());
                tracing::warn!(
                    partitions = sought.len(),
                    ?wait,
                    "start offsets cannot be found yet, trying again: {error}"
                );
                tokio::time::sleep(wait).await;
            }
        }
    }

    async fn look(&self, sought: &[Sought]) -> Vec<Result<Beginning, ResolveError>> {
        let partitions: Vec<_> = sought.iter().map(|sought| sought.key.partition.clone()).collect();
        let mut committed = match self.ports.offsets.fetch(self.group.clone(), partitions).await {
            Ok(committed) => committed.into_iter(),
            Err(error) => return sought.iter().map(|_| Err(error.clone().into())).collect(),
        };
        join_all(sought.iter().map(|sought| self.beginning(sought, committed.next().flatten()))).await
    }

    async fn beginning(&self, sought: &Sought, committed: Option<CommittedOffset>) -> Result<Beginning, ResolveError> {
        if let Some(committed) = committed {
            return Ok(committed.into());
        }
        let partition = &sought.key.partition;
        let policy = self.survey.policy(partition, sought.topic_id, self.policy);
        Ok(Beginning::chosen(choose(&self.ports, &self.group, partition, policy).await?))
    }
}
