use std::time::Duration;

use ractor::ActorRef;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::message::GroupMessage;

/// The shortest wait: a machine that is always due must not have all of the control plane.
const LEAST: Duration = Duration::from_millis(1);

/// The one tick that the group actor waits for.
#[derive(Debug, Default)]
pub(super) struct Timer {
    set: Option<(Instant, JoinHandle<()>)>,
}

impl Timer {
    /// Has the actor told when it is `at`, instead of what was set before; `None`: not at all.
    pub(super) fn set(&mut self, actor: &ActorRef<GroupMessage>, at: Option<Instant>) {
        if self.set.as_ref().is_some_and(|(set, task)| Some(*set) == at && !task.is_finished()) {
            return;
        }
        if let Some((_, task)) = self.set.take() {
            task.abort();
        }
        let Some(at) = at else { return };
        let (actor, earliest) = (actor.clone(), Instant::now() + LEAST);
        let tick = async move {
            tokio::time::sleep_until(at.max(earliest)).await;
            // The actor is gone only when the consumer is.
            let _ = actor.cast(GroupMessage::Tick);
        };
        self.set = Some((at, tokio::spawn(tick)));
    }
}
