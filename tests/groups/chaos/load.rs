use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::JoinHandle;

use crate::support::Client;
use bezoar::record::{ProducerRecord, TopicPartition};

/// Between two rounds of records.
const PAUSE: Duration = Duration::from_millis(60);
/// How many records each partition gets in a round.
const RECORDS: usize = 2;

/// What goes on beside the instances: records are produced, and what the group has committed is looked at.
pub(crate) struct Load {
    done: Arc<AtomicBool>,
    producing: JoinHandle<usize>,
    watching: JoinHandle<Result<(), String>>,
}

impl Load {
    pub(crate) fn start(client: &Arc<Client>, group: &str, topic: &str, partitions: i32) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let producing = tokio::spawn(produce(Arc::clone(client), topic.to_owned(), partitions, Arc::clone(&done)));
        let (group, topic) = (group.to_owned(), topic.to_owned());
        let watching = tokio::spawn(watch(Arc::clone(client), group, topic, partitions, Arc::clone(&done)));
        Self { done, producing, watching }
    }

    /// Ends it; how many records were acknowledged, or what was wrong with the commits.
    pub(crate) async fn stop(self) -> Result<usize, String> {
        self.done.store(true, Ordering::Relaxed);
        self.watching.await.unwrap()?;
        Ok(self.producing.await.unwrap())
    }
}

async fn produce(client: Arc<Client>, topic: String, partitions: i32, done: Arc<AtomicBool>) -> usize {
    let mut acknowledged = 0;
    while !done.load(Ordering::Relaxed) {
        let round = (0..partitions).map(|number| {
            let record = ProducerRecord::to(topic.as_str()).value("an order");
            client.ports.produce.produce(TopicPartition::new(topic.as_str(), number), vec![record; RECORDS])
        });
        // While the broker is away the producer holds on; what it gives up on is not missed.
        acknowledged += join_all(round).await.into_iter().flatten().flatten().count();
        tokio::time::sleep(PAUSE).await;
    }
    acknowledged
}

/// What is committed never goes back.
async fn watch(
    client: Arc<Client>,
    group: String,
    topic: String,
    partitions: i32,
    done: Arc<AtomicBool>,
) -> Result<(), String> {
    let mut highest = vec![None; partitions as usize];
    while !done.load(Ordering::Relaxed) {
        if let Some(committed) = client.committed(&group, &topic, partitions).await {
            for (partition, (highest, committed)) in highest.iter_mut().zip(committed).enumerate() {
                if committed < *highest {
                    return Err(format!(
                        "what is committed of {partition} went from {highest:?} back to {committed:?}"
                    ));
                }
                *highest = committed;
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}
