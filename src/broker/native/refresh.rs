use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Shared;
use tokio::time::{Instant, sleep_until};

use super::call::{Call, Failed};
use super::cluster::Cluster;
use super::topics::metadata;
use crate::broker::{BoxFuture, BrokerError};

/// How long after an answer about a topic it is asked for again at the earliest: a broker does not know more at once.
const PAUSE: Duration = Duration::from_millis(100);

type Done = Shared<BoxFuture<Result<(), BrokerError>>>;

/// The requests for metadata: at most one is under way, and one is gathered for after it.
#[derive(Default)]
pub(super) struct Refreshes {
    rounds: Mutex<Rounds>,
}

#[derive(Default)]
struct Rounds {
    /// The one that is under way.
    asked: Option<Round>,
    /// The one that more topics can still join.
    gathering: Option<Round>,
}

struct Round {
    topics: BTreeSet<String>,
    done: Done,
}

impl Cluster {
    /// Asks for metadata of `topics` (of none: of the brokers), so that [`Leaders`](super::leaders::Leaders) knows them as
    /// they are now. Callers at the same time share one request; a topic that was told just now is waited with a little.
    pub(super) async fn refresh(&self, call: &Call, topics: &[String]) -> Result<(), BrokerError> {
        call.bound(self.round(topics)).await?
    }

    /// Asks for metadata of those of `topics` that are not known, or for too long.
    pub(super) async fn know(&self, call: &Call, topics: &[String]) -> Result<(), BrokerError> {
        let missing: Vec<_> = topics.iter().filter(|topic| !self.leaders.is_fresh(topic)).cloned().collect();
        if missing.is_empty() { Ok(()) } else { self.refresh(call, &missing).await }
    }

    /// The round that will have asked for `topics`.
    fn round(&self, topics: &[String]) -> Done {
        let mut rounds = self.refreshes.lock();
        if let Some(asked) = &rounds.asked
            && topics.iter().all(|topic| asked.topics.contains(topic))
        {
            return asked.done.clone();
        }
        if let Some(gathering) = &mut rounds.gathering {
            gathering.topics.extend(topics.iter().cloned());
            return gathering.done.clone();
        }
        let (me, before) = (self.me.clone(), rounds.asked.as_ref().map(|round| round.done.clone()));
        let closed = || Err(BrokerError::Closed { doing: "refreshing metadata".to_owned() });
        // A task of its own: whoever gives up waiting must not stop it for the others.
        let task = tokio::spawn(async move {
            if let Some(before) = before {
                // Its own callers are told how it went.
                let _ = before.await;
            }
            match me.upgrade() {
                Some(cluster) => cluster.run_round().await,
                None => closed(),
            }
        });
        let done: BoxFuture<_> = Box::pin(task.map(move |result| result.unwrap_or_else(|_| closed())));
        let done = done.shared();
        rounds.gathering = Some(Round { topics: topics.iter().cloned().collect(), done: done.clone() });
        done
    }

    async fn run_round(self: Arc<Self>) -> Result<(), BrokerError> {
        let topics = loop {
            let wait = {
                let mut rounds = self.refreshes.lock();
                let gathered = rounds.gathering.iter().flat_map(|round| &round.topics);
                let told = gathered.filter_map(|topic| self.leaders.learned(topic)).max();
                match told.map(|told| told + PAUSE).filter(|again| *again > Instant::now()) {
                    Some(again) => again,
                    None => {
                        rounds.asked = rounds.gathering.take();
                        let topics = rounds.asked.iter().flat_map(|round| &round.topics);
                        break topics.cloned().collect::<Vec<_>>();
                    }
                }
            };
            sleep_until(wait).await;
        };
        let call = Call::new(format!("reading metadata of {}", names(&topics)), self.settings.request_timeout);
        let result = metadata(&self, &call, &topics).await;
        self.refreshes.lock().asked = None;
        match result {
            Ok(_) => Ok(()),
            Err(Failed::ForNow(error) | Failed::ForGood(error)) => Err(error),
        }
    }
}

impl Refreshes {
    fn lock(&self) -> MutexGuard<'_, Rounds> {
        // Held for short, consistent changes only.
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Some of many names, for people.
pub(super) fn names(names: &[String]) -> String {
    const SHOWN: usize = 5;
    match names {
        [] => "the cluster".to_owned(),
        names if names.len() <= SHOWN => names.join(", "),
        names => format!("{} and {} more", names[..SHOWN].join(", "), names.len() - SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_cut() {
        let all: Vec<_> = (0..7).map(|number| format!("t{number}")).collect();
        assert_eq!(names(&[]), "the cluster");
        assert_eq!(names(&all[..5]), "t0, t1, t2, t3, t4");
        assert_eq!(names(&all), "t0, t1, t2, t3, t4 and 2 more");
    }
}
