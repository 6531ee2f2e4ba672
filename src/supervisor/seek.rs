use std::sync::Arc;

use ractor::ActorRef;

use super::actor::SupervisorActor;
use super::incarnations::wake;
use super::message::{OwnershipKey, SupervisorMessage};
use super::state::{Afterwards, NewStart, Phase, Seeker, SupervisorState, Why};
use super::status::{SeekError, SeekTo};
use crate::broker::{Admin, BrokerError, OffsetSpec};
use crate::record::TopicPartition;

type Myself = ActorRef<SupervisorMessage>;

impl SupervisorActor {
    /// Has a partition go on at another offset. First it is looked where that is; until then nothing changes.
    pub(super) fn seek(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        partition: TopicPartition,
        to: SeekTo,
        seeker: Seeker,
    ) {
        let key = match state.seekable(&partition) {
            Ok(key) => key,
            Err(error) => return drop(seeker.send(Err(error))),
        };
        let (admin, myself) = (Arc::clone(&self.ports.admin), myself.clone());
        tokio::spawn(async move {
            let result = find(&*admin, &partition, to).await;
            let _ = myself.cast(SupervisorMessage::Found { key, result, seeker });
        });
    }

    /// Moves a partition to where it was asked to go on, once what is in flight has finished.
    pub(super) fn found(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        key: &OwnershipKey,
        result: Result<i64, SeekError>,
        seeker: Seeker,
    ) {
        let found = match state.seekable(&key.partition) {
            Ok(present) if present == *key => result,
            Ok(_) => Err(SeekError::Busy { partition: key.partition.clone() }),
            Err(error) => Err(error),
        };
        let to = match found {
            Ok(to) => to,
            Err(error) => return drop(seeker.send(Err(error))),
        };
        let Some(managed) = state.current(key) else { return };
        managed.seeker = Some(seeker);
        managed.afterwards = Some(Afterwards::Move(NewStart::At(to), Why::Sought));
        managed.ownership.stop();
        self.ports.source.remove(&key.partition);
        match &managed.phase {
            Phase::Running(actor) => wake(actor),
            // Its actor is on the way, and stops at once.
            Phase::Pending => {}
            // It was given up, or waits for its restart.
            Phase::Opening | Phase::Waiting | Phase::Stopped => self.stopped(myself, state, key),
        }
    }
}

impl SupervisorState {
    /// The present ownership of a partition, if it may be moved.
    fn seekable(&self, partition: &TopicPartition) -> Result<OwnershipKey, SeekError> {
        let busy = || SeekError::Busy { partition: partition.clone() };
        if self.drain.is_some() {
            return Err(SeekError::Ended);
        }
        if self.membership.as_ref().is_some_and(|membership| membership.claims.contains_key(partition)) {
            return Err(busy());
        }
        let managed = self.partitions.get(partition).filter(|managed| managed.leaving.is_none());
        let Some(managed) = managed else { return Err(SeekError::NotAssigned { partition: partition.clone() }) };
        let moving = managed.moving || matches!(managed.afterwards, Some(Afterwards::Move(..)));
        if moving || matches!(managed.phase, Phase::Opening) {
            return Err(busy());
        }
        Ok(OwnershipKey { partition: partition.clone(), epoch: managed.ownership.epoch })
    }
}

async fn find(admin: &dyn Admin, partition: &TopicPartition, to: SeekTo) -> Result<i64, SeekError> {
    let spec = match to {
        SeekTo::Offset(asked) => {
            let range = [OffsetSpec::Earliest, OffsetSpec::Latest].map(|spec| (partition.clone(), spec));
            let range = admin.offsets(range.to_vec()).await?;
            let [log_start, log_end] = range[..] else {
                let doing = format!("reading where the log of {partition} begins and ends");
                let cause = format!("{} offsets for two questions", range.len());
                return Err(BrokerError::Malformed { doing, cause }.into());
            };
            return match (log_start..=log_end).contains(&asked) {
                true => Ok(asked),
                false => Err(SeekError::OutOfRange { partition: partition.clone(), asked, log_start, log_end }),
            };
        }
        SeekTo::Earliest => OffsetSpec::Earliest,
        SeekTo::Latest => OffsetSpec::Latest,
        SeekTo::Timestamp(millis) => OffsetSpec::Timestamp(millis),
    };
    Ok(admin.offset(partition.clone(), spec).await?)
}
