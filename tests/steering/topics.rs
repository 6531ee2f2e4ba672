//! What is subscribed to: topics that come later, and what cannot be.

use std::time::Duration;

use bezoar::broker::{ConnectionSettings, Plane, Ports};
use bezoar::consumer::{Assignment, MissingTopics};
use bezoar::embedded::Broker;
use bezoar::{ConsumerError, Event, Utf8};

use super::support::{Handled, builder, send};

#[tokio::test]
async fn a_topic_that_is_missing_is_waited_for_where_that_is_asked_for() {
    let broker = Broker::start().await.unwrap();
    let handled = Handled::default();
    let error = builder(&broker).topic("orders", Utf8, handled.handler()).start().await.map(drop).unwrap_err();
    let ConsumerError::MissingTopic { topic, brokers } = &error else { panic!("{error}") };
    assert_eq!((topic.as_str(), brokers.as_slice()), ("orders", &[broker.bootstrap()][..]));
    assert!(error.to_string().contains(&format!("does not exist on the cluster at {}", broker.bootstrap())), "{error}");

    let builder = builder(&broker).missing_topics(MissingTopics::Wait).topic_refresh(Duration::from_millis(500));
    let mut events = builder.events();
    let consumer = builder.topic("orders", Utf8, handled.handler()).start().await.unwrap();
    loop {
        match events.next().await.expect("the consumer runs") {
            Event::TopicMissing { topic } => break assert_eq!(topic, "orders"),
            event => assert!(matches!(event, Event::Started { .. }), "{event:?}"),
        }
    }
    broker.create_topic("orders", 1).unwrap();
    send(&broker, "orders", 0, 2).await;
    handled.reached("orders", 0, 2).await;
    consumer.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_pattern_takes_what_matches_now_and_later_and_never_dead_letters() {
    let broker = Broker::start().await.unwrap();
    for topic in ["orders-eu", "orders-eu.dlq.poison", "orders-eu-dead", "old-orders-eu"] {
        broker.create_topic(topic, 1).unwrap();
        send(&broker, topic, 0, 1).await;
    }
    let (by_pattern, by_name) = (Handled::default(), Handled::default());
    let letters = bezoar::policy::DeadLetterTopics::single().suffix(bezoar::policy::Category::Unknown, "-dead");
    let consumer = builder(&broker)
        .topic_refresh(Duration::from_millis(500))
        .dead_letter_topics(letters)
        .topic_pattern("orders-.*", Utf8, by_pattern.handler())
        .topic("orders-fr", Utf8, by_name.handler())
        .missing_topics(MissingTopics::Wait)
        .start()
        .await
        .unwrap();
    by_pattern.reached("orders-eu", 0, 1).await;
    for topic in ["orders-us", "orders-fr"] {
        broker.create_topic(topic, 1).unwrap();
        send(&broker, topic, 0, 2).await;
    }
    by_pattern.reached("orders-us", 0, 2).await;
    by_name.reached("orders-fr", 0, 2).await;
    let mut topics: Vec<_> = consumer.partitions().await.iter().map(|it| it.partition.topic().to_owned()).collect();
    topics.sort();
    assert_eq!(topics, ["orders-eu", "orders-fr", "orders-us"]);
    assert_eq!(by_pattern.count("orders-fr", 0), 0);
    consumer.shutdown().await.unwrap();
}

#[tokio::test]
async fn ports_without_membership_cannot_be_shared() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let ports = Plane::Native.connect(ConnectionSettings::new([broker.bootstrap()])).await.unwrap();
    let ports = Ports { membership: None, ..ports };
    let handled = Handled::default();
    let builder = || builder(&broker).ports(ports.clone()).topic("orders", Utf8, handled.handler());
    let error = builder().start().await.map(drop).unwrap_err();
    let ConsumerError::Config(error) = error else { panic!("{error}") };
    assert_eq!((error.setting.as_str(), error.value.as_str()), ("assignment", "\"group\""));
    assert!(error.remedy.contains("Assignment::Manual"), "{error}");

    let consumer = builder().assignment(Assignment::Manual).start().await.unwrap();
    send(&broker, "orders", 0, 2).await;
    handled.reached("orders", 0, 2).await;
    consumer.shutdown().await.unwrap();
}
