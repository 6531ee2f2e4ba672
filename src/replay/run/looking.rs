use futures_util::FutureExt;

use super::driver::Driver;
use super::events::heard;
use super::found::Letter;
use super::job::{Decision, prepare};
use super::machine::Input;
use crate::replay::marks::Place;
use crate::replay::{Outcome, Progress, ReplayError};

/// How many letters are looked at before it is looked whether anything else is to be done.
const AT_ONCE: usize = 64;

impl<F: FnMut(&Progress) + Send> Driver<'_, F> {
    /// Takes letters as long as there are some without waiting; whether there are none.
    pub(super) async fn look(&mut self) -> Result<bool, ReplayError> {
        for _ in 0..AT_ONCE {
            if !self.wants_more() {
                return Ok(self.exhausted);
            }
            let Some(found) = self.found.next().now_or_never() else { return Ok(true) };
            self.take(found?).await?;
        }
        Ok(false)
    }

    pub(super) fn wants_more(&self) -> bool {
        !self.exhausted && self.machine.wants_more()
    }

    /// Decides what is to be done with a letter.
    pub(super) async fn take(&mut self, letter: Option<Letter>) -> Result<(), ReplayError> {
        let (topic, entry) = match letter {
            None => {
                self.exhausted = true;
                return Ok(());
            }
            Some(Letter::Missing(at)) => {
                let reason = format!("there is no dead letter at {at}");
                self.fail((at, None), reason, None).await;
                return Ok(());
            }
            Some(Letter::There(topic, entry)) => (topic, *entry),
        };
        let place = Place::new(entry.at.partition.partition(), entry.at.offset);
        if !self.found.include(&self.ledger.marks(topic).state(place.partition, place.offset)) {
            return Ok(());
        }
        let at = (topic, place);
        let whose = (entry.at.clone(), entry.letter.id());
        let deciding = async {
            let context = (&mut self.ledger, &mut self.targets);
            let decision = prepare(&self.run.ports, context, self.options, (at, entry)).await?;
            if matches!(decision, Decision::Send(_)) {
                self.ledger.open(topic).await?;
            }
            Ok::<_, ReplayError>(decision)
        };
        // It may take long: an original is fetched again, a topic is made. Given up, the letter is as it was.
        let decision = tokio::select! {
            biased;
            () = heard(&mut self.asked) => None,
            decision = deciding => Some(decision?),
        };
        match decision {
            None => self.stop_as_asked().await,
            Some(Decision::Skip(skip, target)) => self.tell(whose, target, Outcome::Skipped(skip), (None, false)),
            Some(Decision::Fail(reason, target)) => self.fail(whose, reason, target).await,
            Some(Decision::Send(job)) => {
                self.jobs.insert(at, *job);
                self.step(Input::Found(at)).await;
            }
        }
        Ok(())
    }
}
