use std::sync::Arc;

use tokio::time::Instant;

use super::{Manager, Waiting};
use crate::broker::BrokerError;
use crate::broker::native::call::Call;
use crate::broker::native::fetch::backoff;
use crate::broker::native::fetch::message::Order;
use crate::broker::native::fetch::placing::{Place, place};

impl Manager {
    /// Asks for metadata of topics, once for all who wait for it.
    pub(super) fn refresh(&mut self, topics: Vec<String>) {
        self.asked = Instant::now();
        let cluster = Arc::clone(&self.cluster);
        let call = Call::new(format!("reading metadata of {}", topics.join(", ")), cluster.settings.request_timeout);
        self.refreshing = Some(Box::pin(async move { cluster.refresh(&call, &topics).await }));
    }

    /// Metadata has come, or not.
    pub(super) fn learn(&mut self, result: Result<(), BrokerError>) {
        self.refreshing = None;
        let (now, asked, leaders) = (Instant::now(), self.asked, &self.cluster.leaders);
        let error = match result {
            Ok(()) => {
                let doing = "reading metadata".to_owned();
                BrokerError::Malformed { doing, cause: "the topic is missing in the answer".to_owned() }
            }
            Err(error) => error,
        };
        let unanswered = |waiting: &&mut Waiting| {
            let Waiting { reading, due, fresh, .. } = &**waiting;
            *due <= now
                && fresh.is_some_and(|fresh| fresh <= asked)
                && place(leaders, &reading.partition, reading.topic_id, *fresh) == Place::Ask
        };
        let unanswered: Vec<_> = self.waiting.iter_mut().filter(unanswered).collect();
        let failures = unanswered.iter().map(|waiting| waiting.reading.failures).max().unwrap_or(0).saturating_add(1);
        // One pause for all, so that they ask together.
        let due = now + backoff::pause(failures, rand::random());
        for waiting in unanswered {
            waiting.reading.failures = failures;
            waiting.reading.tell_failure(error.clone());
            waiting.due = due;
        }
        self.compare();
    }

    /// Takes back what metadata shows to be elsewhere, or to be another topic.
    fn compare(&self) {
        for (partition, placed) in &self.placed {
            let Some(Ok(leader)) = self.cluster.leaders.of(partition) else { continue };
            let other = matches!((placed.topic_id, leader.topic_id), (Some(known), Some(found)) if known != found);
            if !other && leader.broker == placed.broker {
                continue;
            }
            if let Some(one) = self.loops.get(&placed.broker) {
                let _ = one.inbox.send(Order::GiveBack(partition.clone()));
            }
        }
    }
}
