//! Topics that cannot be listed, each with an error that says why.

use std::sync::Arc;

use bezoar::broker::{
    Admin, BoxFuture, BrokerError, ErrorCode, NewTopic, OffsetSpec, Operations, Ports, TopicMetadata,
};
use bezoar::embedded::{Api, Fault};
use bezoar::record::TopicPartition;
use bezoar::replay::{DeadLetters, Filter, ReplayError};

use crate::fixture::{Fixture, unique};
use crate::made::{Made, letters, publish};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_does_not_exist_is_named() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    let absent = unique("absent");
    let letters = letters(&fixture, &[&topic, &absent]);
    let expected = ReplayError::NoSuchTopic { topic: absent };
    assert_eq!(letters.list(&Filter::new(), 1).await, Err(expected.clone()));
    assert_eq!(letters.groups(&Filter::new()).await, Err(expected.clone()));
    assert_eq!(letters.stats().await, Err(expected.clone()));
    assert_eq!(letters.follow(&Filter::new()).await.map(|_| ()), Err(expected));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_of_marks_names_the_right_one() {
    let fixture = Fixture::native().await;
    let dead_letters = unique("orders.dlq");
    let marks = format!("{dead_letters}.replays");
    let topic = NewTopic::new(&marks, 1).replication(1).config("cleanup.policy", "compact");
    fixture.ports.admin.create_topic(topic).await.unwrap();
    let refused = letters(&fixture, &[&marks]).list(&Filter::new(), 1).await.unwrap_err();
    assert_eq!(refused, ReplayError::ReplaysTopic { topic: marks, dead_letters });
    // The name alone says nothing.
    let topic = unique("orders.replays").replace("orders.replays-", "") + ".replays";
    fixture.create(&topic, 1).await;
    publish(&fixture, &topic, 0, [Made::of(0)]).await;
    assert_eq!(letters(&fixture, &[&topic]).list(&Filter::new(), 1).await.unwrap().matched, 1);
}

/// Says that nothing may be read.
struct Forbidding(Arc<dyn Admin>);

impl Admin for Forbidding {
    fn topics(&self, names: Vec<String>) -> BoxFuture<Result<Vec<Option<TopicMetadata>>, BrokerError>> {
        let found = self.0.topics(names);
        Box::pin(async move {
            let mut found = found.await?;
            found.iter_mut().flatten().for_each(|topic| topic.operations = Some(Operations(1 << 8)));
            Ok(found)
        })
    }

    fn create_topic(&self, topic: NewTopic) -> BoxFuture<Result<(), BrokerError>> {
        self.0.create_topic(topic)
    }

    fn delete_topics(&self, names: Vec<String>) -> BoxFuture<Result<(), BrokerError>> {
        self.0.delete_topics(names)
    }

    fn topic_config(&self, topic: String, entry: String) -> BoxFuture<Result<Option<String>, BrokerError>> {
        self.0.topic_config(topic, entry)
    }

    fn offset(&self, partition: TopicPartition, spec: OffsetSpec) -> BoxFuture<Result<i64, BrokerError>> {
        self.0.offset(partition, spec)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_may_not_be_read_says_which_right_is_missing() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    publish(&fixture, &topic, 0, [Made::of(0)]).await;
    let admin = Arc::new(Forbidding(Arc::clone(&fixture.ports.admin)));
    let letters = DeadLetters::new(Ports { admin, ..fixture.ports.clone() }, [topic.as_str()]);
    assert_eq!(letters.list(&Filter::new(), 1).await, Err(ReplayError::NotAllowed { topic }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_right_that_is_missing_while_reading_is_told_at_once() {
    let fixture = Fixture::native().await;
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    publish(&fixture, &topic, 0, [Made::of(0)]).await;
    // TOPIC_AUTHORIZATION_FAILED, as of brokers that do not tell what may be done.
    broker.inject(Fault::on(Api::Fetch).forever().error(ErrorCode(29)));
    let refused = letters(&fixture, &[&topic]).list(&Filter::new(), 1).await.unwrap_err();
    assert!(matches!(&refused, ReplayError::Broker(error) if error.code() == Some(ErrorCode(29))), "{refused}");
    assert!(refused.to_string().contains("grant"), "{refused}");
}
