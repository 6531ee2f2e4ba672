//! Partitions added, configurations changed, clusters and topics described.

use bezoar::broker::{ErrorCode, NewTopic};
use bezoar::embedded::{Api, BatchWriter, Broker, Fault};
use kafka_protocol::messages::create_partitions_request::{CreatePartitionsAssignment, CreatePartitionsTopic};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::{
    AlterConfigsRequest, BrokerId, CreatePartitionsRequest, DescribeClusterRequest, DescribeConfigsRequest,
    DescribeTopicPartitionsRequest, IncrementalAlterConfigsRequest, alter_configs_request,
    incremental_alter_configs_request,
};
use tokio::io::DuplexStream;

use crate::client::{Client, text, topic_name};

fn grow(name: &str, count: i32) -> CreatePartitionsTopic {
    CreatePartitionsTopic::default().with_name(topic_name(name)).with_count(count).with_assignments(None)
}

#[tokio::test]
async fn partitions_are_added_and_never_taken_away() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    let mut client = Client::pipe(&broker);
    let assigned = |node| vec![CreatePartitionsAssignment::default().with_broker_ids(vec![BrokerId(node)])];
    for (what, topic, code) in [
        ("as many", grow("orders", 2), 37),
        ("fewer", grow("orders", 1), 37),
        ("unknown", grow("nowhere", 3), 3),
        ("far too many", grow("orders", i32::MAX), 44),
        ("elsewhere", grow("orders", 3).with_assignments(Some(assigned(9))), 39),
        ("too few assigned", grow("orders", 4).with_assignments(Some(assigned(1))), 39),
    ] {
        let answer = client.call(3, &CreatePartitionsRequest::default().with_topics(vec![topic])).await;
        assert_eq!(answer.results[0].error_code, code, "{what}");
        assert!(answer.results[0].error_message.is_some(), "{what}");
    }
    let checked = CreatePartitionsRequest::default().with_topics(vec![grow("orders", 3)]).with_validate_only(true);
    assert_eq!(client.call(3, &checked).await.results[0].error_code, 0);
    assert_eq!(broker.end_offset("orders", 2), None);
    let growing = CreatePartitionsRequest::default().with_topics(vec![grow("orders", 4)]);
    assert_eq!(client.call(0, &growing).await.results[0].error_code, 0);
    assert_eq!((broker.end_offset("orders", 3), broker.end_offset("orders", 4)), (Some(0), None));
    let batch = BatchWriter::new().record(None, Some(b"v"), vec![]).build();
    assert_eq!(client.produce("orders", 3, batch).await.error_code, 0);
    broker.inject(Fault::on(Api::CreatePartitions).topic("orders").error(ErrorCode(41)));
    assert_eq!(client.call(3, &growing).await.results[0].error_code, 41);
}

async fn configured(client: &mut Client<DuplexStream>, name: &str) -> (String, i8) {
    let resource = DescribeConfigsResource::default()
        .with_resource_type(2)
        .with_resource_name(text("orders"))
        .with_configuration_keys(Some(vec![text(name)]));
    let answer = client.call(4, &DescribeConfigsRequest::default().with_resources(vec![resource])).await;
    let config = &answer.results[0].configs[0];
    (config.value.as_deref().unwrap().to_owned(), config.config_source)
}

#[tokio::test]
async fn configurations_are_changed_entry_by_entry() {
    use incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
    let broker = Broker::start().await.unwrap();
    broker.create(NewTopic::new("orders", 1).config("retention.ms", "1000")).unwrap();
    let mut client = Client::pipe(&broker);
    let request = |kind, topic: &str, name: &str, operation, value: Option<&str>| {
        let config = AlterableConfig::default()
            .with_name(text(name))
            .with_config_operation(operation)
            .with_value(value.map(text));
        let resource = AlterConfigsResource::default().with_resource_type(kind).with_resource_name(text(topic));
        IncrementalAlterConfigsRequest::default().with_resources(vec![resource.with_configs(vec![config])])
    };
    for (what, request, code) in [
        ("a broker", request(4, "1", "num.partitions", 0, Some("3")), 42),
        ("unknown topic", request(2, "nowhere", "retention.ms", 0, Some("3")), 3),
        ("unknown entry", request(2, "orders", "color", 0, Some("3")), 40),
        ("bad value", request(2, "orders", "retention.ms", 0, Some("soon")), 40),
        ("null", request(2, "orders", "retention.ms", 0, None), 42),
        ("unknown operation", request(2, "orders", "retention.ms", 9, Some("3")), 42),
        ("no list", request(2, "orders", "retention.ms", 2, Some("3")), 40),
    ] {
        assert_eq!(client.call(1, &request).await.responses[0].error_code, code, "{what}");
    }
    let set = request(2, "orders", "max.message.bytes", 0, Some("200"));
    assert_eq!(client.call(1, &set.clone().with_validate_only(true)).await.responses[0].error_code, 0);
    assert_eq!(configured(&mut client, "max.message.bytes").await, ("1048588".to_owned(), 5));
    client.call(0, &set).await;
    assert_eq!(configured(&mut client, "max.message.bytes").await, ("200".to_owned(), 1));
    assert_eq!(configured(&mut client, "retention.ms").await, ("1000".to_owned(), 1), "others stay");
    let large = BatchWriter::new().record(None, Some(&[0; 300]), vec![]).build();
    assert_eq!(client.produce("orders", 0, large.clone()).await.error_code, 10, "it is heeded");
    client.call(1, &request(2, "orders", "max.message.bytes", 1, None)).await;
    assert_eq!(client.produce("orders", 0, large).await.error_code, 0);
    client.call(1, &request(2, "orders", "cleanup.policy", 2, Some("compact"))).await;
    assert_eq!(configured(&mut client, "cleanup.policy").await.0, "delete,compact");
    client.call(1, &request(2, "orders", "cleanup.policy", 3, Some("delete"))).await;
    assert_eq!(configured(&mut client, "cleanup.policy").await.0, "compact");
}

#[tokio::test]
async fn configurations_are_replaced_as_a_whole() {
    use alter_configs_request::{AlterConfigsResource, AlterableConfig};
    let broker = Broker::start().await.unwrap();
    broker.create(NewTopic::new("orders", 1).config("retention.ms", "1000")).unwrap();
    let mut client = Client::pipe(&broker);
    let config = AlterableConfig::default().with_name(text("segment.ms")).with_value(Some(text("7")));
    let resource = AlterConfigsResource::default().with_resource_type(2).with_resource_name(text("orders"));
    let resource = resource.with_configs(vec![config]);
    let twice = AlterConfigsRequest::default().with_resources(vec![resource.clone(), resource.clone()]);
    assert!(client.call(2, &twice).await.responses.iter().all(|one| one.error_code == 42));
    let once = AlterConfigsRequest::default().with_resources(vec![resource]);
    assert_eq!(client.call(2, &once).await.responses[0].error_code, 0);
    assert_eq!(configured(&mut client, "segment.ms").await, ("7".to_owned(), 1));
    assert_eq!(configured(&mut client, "retention.ms").await, ("604800000".to_owned(), 5), "back to its default");
}

#[tokio::test]
async fn the_cluster_is_described() {
    let broker = Broker::start().await.unwrap();
    let mut client = Client::pipe(&broker);
    let request = DescribeClusterRequest::default().with_include_cluster_authorized_operations(true);
    let answer = client.call(2, &request).await;
    assert_eq!((answer.error_code, answer.controller_id, answer.brokers.len()), (0, BrokerId(1), 1));
    assert_eq!(format!("{}:{}", &*answer.brokers[0].host, answer.brokers[0].port), broker.bootstrap());
    assert!(!answer.cluster_id.is_empty() && answer.cluster_authorized_operations > 0);
    assert_eq!(client.call(1, &request.with_endpoint_type(2)).await.error_code, 114);
}

#[tokio::test]
async fn topics_are_described_in_parts() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 3).unwrap();
    broker.create_topic("refunds", 2).unwrap();
    broker.bump_leader_epoch("refunds", 1).unwrap();
    let mut client = Client::pipe(&broker);
    let mut request = DescribeTopicPartitionsRequest::default().with_response_partition_limit(2).with_cursor(None);
    let mut all = Vec::new();
    for _ in 0..10 {
        let answer = client.call(0, &request).await;
        for topic in &answer.topics {
            let name = topic.name.as_ref().unwrap().to_string();
            all.extend(topic.partitions.iter().map(|one| (name.clone(), one.partition_index, one.leader_epoch)));
        }
        let Some(next) = answer.next_cursor else { break };
        let next = Cursor::default().with_topic_name(next.topic_name).with_partition_index(next.partition_index);
        request.cursor = Some(next);
    }
    let expected = [("orders", 0, 0), ("orders", 1, 0), ("orders", 2, 0), ("refunds", 0, 0), ("refunds", 1, 1)];
    assert_eq!(all, expected.map(|(name, partition, epoch)| (name.to_owned(), partition, epoch)));
    let named = |name: &str| TopicRequest::default().with_name(topic_name(name));
    let request = DescribeTopicPartitionsRequest::default().with_topics(vec![named("nowhere"), named("a/b")]);
    let answer = client.call(0, &request.with_response_partition_limit(10)).await;
    assert_eq!(answer.topics.iter().map(|one| one.error_code).collect::<Vec<_>>(), [17, 3]);
}
