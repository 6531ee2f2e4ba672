use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, BatchWriter, Broker, Fault};
use bytes::Bytes;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::produce_request::PartitionProduceData;
use kafka_protocol::messages::{
    CreateTopicsRequest, FindCoordinatorRequest, InitProducerIdRequest, MetadataRequest, create_topics_request,
};

use crate::client::{Client, fetch, produce, text, topic_name};

fn batch() -> Bytes {
    BatchWriter::new().record(Some(b"k"), Some(b"v"), vec![]).build()
}

async fn orders() -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    broker
}

#[tokio::test]
async fn an_error_hits_its_partition_and_spares_the_other() {
    let broker = orders().await;
    let mut client = Client::tcp(&broker).await;
    let fault =
        broker.inject(Fault::on(Api::Produce).topic("orders").partition(1).after(1).times(2).error(ErrorCode(7)));
    let mut both = produce(-1, "orders", 0, batch());
    both.topic_data[0].partition_data.push(PartitionProduceData::default().with_index(1).with_records(Some(batch())));
    let mut codes = Vec::new();
    for _ in 0..4 {
        let answer = client.call(9, &both).await;
        codes.push(answer.responses[0].partition_responses.iter().map(|one| one.error_code).collect::<Vec<_>>());
    }
    assert_eq!(codes, [[0, 0], [0, 7], [0, 7], [0, 0]]);
    assert_eq!((fault.fired(), broker.end_offset("orders", 0), broker.end_offset("orders", 1)), (2, Some(4), Some(2)));
}

#[tokio::test]
async fn an_error_on_fetch_is_answered_at_once() {
    let broker = orders().await;
    let fault = broker.inject(Fault::on(Api::Fetch).partition(1).forever().error(ErrorCode(6)));
    let mut client = Client::tcp(&broker).await;
    let answer = client.fetch(&fetch("orders", &[(0, 0), (1, 0)]).with_max_wait_ms(i32::MAX)).await;
    let codes: Vec<_> = answer.responses[0].partitions.iter().map(|one| one.error_code).collect();
    assert_eq!(codes, [0, 6]);
    fault.remove();
    let answer = client.fetch(&fetch("orders", &[(1, 0)])).await;
    assert_eq!((answer.responses[0].partitions[0].error_code, fault.fired()), (0, 1));
}

#[tokio::test]
async fn requests_without_partitions_take_the_code_where_they_have_one() {
    let broker = orders().await;
    for api in [Api::FindCoordinator, Api::InitProducerId, Api::Metadata, Api::CreateTopics] {
        broker.inject(Fault::on(api).forever().error(ErrorCode(15)));
    }
    let mut client = Client::tcp(&broker).await;
    let find = FindCoordinatorRequest::default();
    assert_eq!(client.call(3, &find).await.error_code, 15);
    let find = find.with_coordinator_keys(vec![text("a"), text("b")]);
    assert!(client.call(4, &find).await.coordinators.iter().all(|one| one.error_code == 15));
    let init = InitProducerIdRequest::default().with_transactional_id(None);
    assert_eq!(client.call(4, &init).await.error_code, 15);
    let asked = MetadataRequestTopic::default().with_name(Some(topic_name("orders")));
    let metadata = client.call(12, &MetadataRequest::default().with_topics(Some(vec![asked]))).await;
    assert_eq!((metadata.topics[0].error_code, metadata.brokers.len()), (15, 1));
    let topic =
        create_topics_request::CreatableTopic::default().with_name(topic_name("refunds")).with_num_partitions(1);
    let create = CreateTopicsRequest::default().with_topics(vec![topic.with_replication_factor(1)]);
    assert_eq!(client.call(5, &create).await.topics[0].error_code, 15);
    assert_eq!(broker.topics(), ["orders"]);
}

#[tokio::test]
async fn a_connection_is_dropped_before_or_after_the_effect() {
    let broker = orders().await;
    let before = broker.inject(Fault::on(Api::Produce).drop_before_effect());
    let mut client = Client::tcp(&broker).await;
    assert!(client.try_call(9, &produce(-1, "orders", 0, batch())).await.is_none());
    assert_eq!((before.fired(), broker.end_offset("orders", 0)), (1, Some(0)));

    let after = broker.inject(Fault::on(Api::Produce).drop_after_effect());
    let mut client = Client::tcp(&broker).await;
    assert!(client.try_call(9, &produce(-1, "orders", 0, batch())).await.is_none());
    assert_eq!((after.fired(), broker.end_offset("orders", 0)), (1, Some(1)));
    assert_eq!(Client::tcp(&broker).await.produce("orders", 0, batch()).await.error_code, 0);
    assert_eq!(broker.requests(Api::Produce), 3);
}

#[tokio::test]
async fn a_broker_that_closes_its_connections_takes_new_ones() {
    let broker = orders().await;
    let mut client = Client::tcp(&broker).await;
    client.produce("orders", 0, batch()).await;
    broker.close_connections();
    assert_eq!(client.frame().await, None);
    assert_eq!(Client::tcp(&broker).await.produce("orders", 0, batch()).await.base_offset, 1);
}

#[tokio::test]
async fn a_dropped_broker_closes_its_connections() {
    let broker = orders().await;
    let (mut tcp, mut pipe) = (Client::tcp(&broker).await, Client::pipe(&broker));
    tcp.produce("orders", 0, batch()).await;
    pipe.produce("orders", 0, batch()).await;
    drop(broker);
    assert_eq!((tcp.frame().await, pipe.frame().await), (None, None));
}

#[tokio::test]
async fn a_broker_that_goes_down_comes_back_with_all_it_had() {
    let broker = orders().await;
    let mut client = Client::tcp(&broker).await;
    client.produce("orders", 0, batch()).await;
    broker.go_down().await;
    assert_eq!(client.frame().await, None);
    assert!(tokio::net::TcpStream::connect(broker.address()).await.is_err());
    assert_eq!(Client::pipe(&broker).frame().await, None);
    broker.come_back().await.unwrap();
    assert_eq!(Client::tcp(&broker).await.produce("orders", 0, batch()).await.base_offset, 1);
}
