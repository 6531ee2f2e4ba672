use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::message::{ClassifierMessage, Verdict};
use super::{Rules, publishing};
use crate::policy::Policies;

/// Sorts failures into categories and decides by their policies. It keeps no state: attempts are counted where the
/// record waits, by partition and offset, so that one partition never disturbs another's. So there may be several: each
/// lane has one, and the control plane has one.
#[derive(Clone)]
pub(crate) struct ClassifierActor {
    pub(crate) policies: Policies,
    pub(crate) rules: Arc<Rules>,
}

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl Actor for ClassifierActor {
    type Msg = ClassifierMessage;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<ClassifierMessage>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<ClassifierMessage>,
        message: ClassifierMessage,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        // Whoever asked may be gone: then the answer is not needed.
        match message {
            ClassifierMessage::Judge { evidence, attempt, reply } => {
                let category = self.rules.classify(&evidence);
                let policy = self.policies.policy(category);
                let decision = self.policies.decide(category, attempt, evidence.retry_after, rand::random());
                let max_attempts = policy.retries.saturating_add(1);
                let verdict = Verdict { category, decision, max_attempts, alert: policy.alert, page: policy.page };
                let _ = reply.send((verdict, evidence));
            }
            ClassifierMessage::JudgePublishing { error, batch, rung, failures, reply } => {
                let _ = reply.send(publishing::judge(&error, batch, rung, failures, rand::random()));
            }
        }
        Ok(())
    }
}
