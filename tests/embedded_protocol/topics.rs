use bezoar::broker::NewTopic;
use bezoar::embedded::Broker;
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    BrokerId, CreateTopicsRequest, DeleteTopicsRequest, DescribeConfigsRequest, MetadataRequest,
};
use uuid::Uuid;

use crate::client::{Client, text, topic_name};

fn topic(name: &str, partitions: i32, replication: i16) -> CreatableTopic {
    CreatableTopic::default()
        .with_name(topic_name(name))
        .with_num_partitions(partitions)
        .with_replication_factor(replication)
}

fn config(name: &str, value: &str) -> CreatableTopicConfig {
    CreatableTopicConfig::default().with_name(text(name)).with_value(Some(text(value)))
}

fn asked(name: &str) -> MetadataRequestTopic {
    MetadataRequestTopic::default().with_name(Some(topic_name(name)))
}

#[tokio::test]
async fn topics_are_created_with_defaults_and_configuration() {
    let broker = Broker::builder().default_partitions(4).start().await.unwrap();
    let mut client = Client::pipe(&broker);
    let request = CreateTopicsRequest::default()
        .with_topics(vec![topic("orders", -1, -1).with_configs(vec![config("retention.ms", "1000")])]);
    let checked = client.call(7, &request.clone().with_validate_only(true)).await;
    assert_eq!((checked.topics[0].error_code, checked.topics[0].num_partitions), (0, 4));
    assert!(broker.topics().is_empty());

    let created = client.call(7, &request).await.topics[0].clone();
    assert_eq!((created.error_code, created.num_partitions, created.replication_factor), (0, 4, 1));
    assert_eq!(Some(created.topic_id), broker.topic_id("orders"));
    let retention = created.configs.unwrap().into_iter().find(|one| &*one.name == "retention.ms").unwrap();
    assert_eq!(retention.value.as_deref(), Some("1000"));

    let assigned = vec![CreatableReplicaAssignment::default().with_broker_ids(vec![BrokerId(1)])];
    let by_hand = CreateTopicsRequest::default().with_topics(vec![topic("refunds", -1, -1).with_assignments(assigned)]);
    assert_eq!(client.call(7, &by_hand).await.topics[0].num_partitions, 1);
}

#[tokio::test]
async fn topics_that_kafka_refuses_are_refused() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let elsewhere = vec![CreatableReplicaAssignment::default().with_broker_ids(vec![BrokerId(2)])];
    let mut client = Client::pipe(&broker);
    for (what, topics, code) in [
        ("taken", vec![topic("orders", 1, 1)], 36),
        ("a bad name", vec![topic("a/b", 1, 1)], 17),
        ("no partitions", vec![topic("a", 0, 1)], 37),
        ("too many partitions", vec![topic("a", i32::MAX, 1)], 44),
        ("too many replicas", vec![topic("a", 1, 3)], 38),
        ("a node that is not there", vec![topic("a", -1, -1).with_assignments(elsewhere)], 39),
        ("an unknown setting", vec![topic("a", 1, 1).with_configs(vec![config("color", "red")])], 40),
        ("a bad value", vec![topic("a", 1, 1).with_configs(vec![config("retention.ms", "soon")])], 40),
        ("named twice", vec![topic("a", 1, 1), topic("a", 1, 1)], 42),
    ] {
        let answer = client.call(5, &CreateTopicsRequest::default().with_topics(topics)).await;
        assert!(answer.topics.iter().all(|one| one.error_code == code), "{what}: {:?}", answer.topics);
        assert!(answer.topics[0].error_message.is_some(), "{what}");
    }
    let many = (0..3).map(|n| topic(&format!("many-{n}"), 4_000, 1)).collect();
    let answer = client.call(5, &CreateTopicsRequest::default().with_topics(many)).await;
    assert_eq!(answer.topics.iter().map(|one| one.error_code).collect::<Vec<_>>(), [0, 0, 44]);
}

#[tokio::test]
async fn metadata_tells_topics_by_name_and_by_id() {
    let broker = Broker::start().await.unwrap();
    let id = broker.create_topic("orders", 3).unwrap();
    broker.create_topic("refunds", 1).unwrap();
    let mut client = Client::pipe(&broker);
    let all = client.call(12, &MetadataRequest::default().with_topics(None)).await;
    assert_eq!(all.topics.len(), 2);
    assert_eq!(format!("{}:{}", &*all.brokers[0].host, all.brokers[0].port), broker.bootstrap());
    assert_eq!(client.call(0, &MetadataRequest::default().with_topics(Some(vec![]))).await.topics.len(), 2);
    assert_eq!(client.call(1, &MetadataRequest::default().with_topics(Some(vec![]))).await.topics.len(), 0);

    let by_id = |id| MetadataRequestTopic::default().with_name(None).with_topic_id(id);
    let topics = vec![asked("orders"), by_id(id), by_id(Uuid::from_u128(1)), asked("nowhere"), asked("a/b")];
    let answer = client.call(12, &MetadataRequest::default().with_topics(Some(topics))).await;
    let told: Vec<_> = answer.topics.iter().map(|one| (one.error_code, one.partitions.len())).collect();
    assert_eq!(told, [(0, 3), (0, 3), (100, 0), (3, 0), (17, 0)]);
    assert_eq!(broker.topics(), ["orders", "refunds"], "asking creates nothing");
}

#[tokio::test]
async fn asking_creates_a_topic_only_where_both_sides_allow_it() {
    let broker = Broker::builder().auto_create_topics(true).default_partitions(2).start().await.unwrap();
    let mut client = Client::pipe(&broker);
    let request = MetadataRequest::default().with_topics(Some(vec![asked("orders")]));
    let refused = client.call(12, &request.clone().with_allow_auto_topic_creation(false)).await;
    assert_eq!(refused.topics[0].error_code, 3);
    let created = client.call(12, &request.with_allow_auto_topic_creation(true)).await;
    assert_eq!((created.topics[0].error_code, created.topics[0].partitions.len()), (0, 2));
}

#[tokio::test]
async fn topics_are_deleted_by_name_and_by_id() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let id = broker.create_topic("refunds", 1).unwrap();
    let mut client = Client::pipe(&broker);
    let by_name = DeleteTopicsRequest::default().with_topic_names(vec![topic_name("orders"), topic_name("orders")]);
    let codes: Vec<_> = client.call(5, &by_name).await.responses.iter().map(|one| one.error_code).collect();
    assert_eq!(codes, [0, 3]);
    let state = DeleteTopicState::default().with_name(None).with_topic_id(id);
    let by_id = DeleteTopicsRequest::default().with_topics(vec![state.clone(), state]);
    let answers = client.call(6, &by_id).await.responses;
    assert_eq!(answers.iter().map(|one| one.error_code).collect::<Vec<_>>(), [0, 100]);
    assert_eq!(answers[0].name, Some(topic_name("refunds")));
    assert!(broker.topics().is_empty());
}

#[tokio::test]
async fn configurations_are_described_with_their_defaults() {
    let broker = Broker::start().await.unwrap();
    broker.create(NewTopic::new("orders", 1).config("cleanup.policy", "compact")).unwrap();
    let mut client = Client::pipe(&broker);
    let resource =
        |kind, name: &str| DescribeConfigsResource::default().with_resource_type(kind).with_resource_name(text(name));
    let keys = ["cleanup.policy", "retention.ms", "max.message.bytes"].map(text).to_vec();
    let resources = vec![
        resource(2, "orders").with_configuration_keys(Some(keys)),
        resource(2, "nowhere").with_configuration_keys(None),
        resource(4, "1").with_configuration_keys(None),
        resource(4, "9").with_configuration_keys(None),
    ];
    let answer = client.call(4, &DescribeConfigsRequest::default().with_resources(resources)).await;
    let codes: Vec<_> = answer.results.iter().map(|one| one.error_code).collect();
    assert_eq!(codes, [0, 3, 0, 42]);
    let configs = &answer.results[0].configs;
    let told: Vec<_> =
        configs.iter().map(|one| (&*one.name, one.value.as_deref().unwrap(), one.config_source)).collect();
    assert_eq!(
        told,
        [("cleanup.policy", "compact", 1), ("max.message.bytes", "1048588", 5), ("retention.ms", "604800000", 5),]
    );
    assert!(answer.results[2].configs.iter().any(|one| &*one.name == "auto.create.topics.enable"));
}

#[tokio::test]
async fn the_handle_says_why_it_refuses() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let error = broker.create_topic("orders", 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "creating topic orders: embedded broker answered TOPIC_ALREADY_EXISTS (36): Topic 'orders' already exists."
    );
    assert!(broker.delete_topic("nowhere").is_err());
    assert!(broker.records("orders", 1).is_err());
    assert!(broker.delete_records_before("orders", 0, 1).is_err());
    assert!(broker.append_raw("orders", 0, bytes::Bytes::from_static(b"nonsense")).is_err());
    assert_eq!((broker.end_offset("orders", 1), broker.committed("g", "orders", 0)), (None, None));
    let taken = Broker::builder().address(broker.address()).start().await.unwrap_err().to_string();
    assert!(taken.contains(&broker.address().to_string()) && taken.contains("another port"), "{taken}");
}
