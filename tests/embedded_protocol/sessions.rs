//! Fetch sessions (KIP-227).

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, BatchWriter, Broker, Fault};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
use kafka_protocol::messages::{FetchRequest, FetchResponse};
use uuid::Uuid;

use crate::client::{Client, fetch, topic_name};

async fn orders(partitions: i32) -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", partitions).unwrap();
    broker
}

fn append(broker: &Broker, partition: i32) {
    let batch = BatchWriter::new().record(Some(b"k"), Some(b"v"), vec![]).build();
    broker.append_raw("orders", partition, batch).unwrap();
}

/// A fetch of these partitions and offsets in a session.
fn within(session: i32, epoch: i32, offsets: &[(i32, i64)]) -> FetchRequest {
    let mut request = fetch("orders", offsets).with_session_id(session).with_session_epoch(epoch);
    request.topics.retain(|topic| !topic.partitions.is_empty());
    request
}

/// The partitions of an answer, and whether they bring records.
fn told(answer: &FetchResponse) -> Vec<(i32, bool)> {
    assert_eq!(answer.error_code, 0);
    let all = answer.responses.iter().flat_map(|topic| &topic.partitions);
    all.map(|one| (one.partition_index, one.records.as_ref().is_some_and(|records| !records.is_empty()))).collect()
}

#[tokio::test]
async fn an_answer_within_a_session_tells_only_news() {
    let broker = orders(3).await;
    append(&broker, 1);
    let mut client = Client::pipe(&broker);
    let first = client.fetch(&within(0, 0, &[(0, 0), (1, 0), (2, 0)])).await;
    let id = first.session_id;
    assert!(id > 0);
    assert_eq!(told(&first), [(0, false), (1, true), (2, false)], "the first answer tells everything");

    let second = client.fetch(&within(id, 1, &[(1, 1)])).await;
    assert_eq!((second.session_id, told(&second)), (id, vec![]), "no news");

    append(&broker, 2);
    let third = client.fetch(&within(id, 2, &[])).await;
    assert_eq!(told(&third), [(2, true)]);
    // What was not taken comes again, until the client names another offset.
    assert_eq!(told(&client.fetch(&within(id, 3, &[])).await), [(2, true)]);
    assert_eq!(told(&client.fetch(&within(id, 4, &[(2, 1)])).await), []);

    broker.delete_records_before("orders", 1, 1).unwrap();
    assert_eq!(told(&client.fetch(&within(id, 5, &[])).await), [(1, false)], "the start of its log moved");
}

#[tokio::test]
async fn partitions_join_and_leave_a_session() {
    let broker = orders(3).await;
    (0..3).for_each(|partition| append(&broker, partition));
    let mut client = Client::pipe(&broker);
    let id = client.fetch(&within(0, 0, &[(0, 0)])).await.session_id;
    assert_eq!(told(&client.fetch(&within(id, 1, &[(2, 0)])).await), [(0, true), (2, true)]);
    let gone = ForgottenTopic::default().with_topic(topic_name("orders")).with_partitions(vec![0]);
    let request = within(id, 2, &[(1, 0)]).with_forgotten_topics_data(vec![gone]);
    assert_eq!(told(&client.fetch(&request).await), [(2, true), (1, true)]);
    let rest = ForgottenTopic::default().with_topic(topic_name("orders")).with_partitions(vec![1, 2]);
    let emptied = client.fetch(&within(id, 3, &[]).with_forgotten_topics_data(vec![rest])).await;
    assert_eq!((emptied.session_id, told(&emptied)), (0, vec![]), "a session without partitions ends");
    assert_eq!(client.fetch(&within(id, 4, &[])).await.error_code, 70);
}

#[tokio::test]
async fn who_brought_records_comes_last_next_time() {
    let broker = orders(3).await;
    (0..3).for_each(|partition| append(&broker, partition));
    let mut client = Client::pipe(&broker);
    let small = |request: FetchRequest| request.with_max_bytes(1);
    let id = client.fetch(&small(within(0, 0, &[(0, 0), (1, 0), (2, 0)]))).await.session_id;
    let mut served = Vec::new();
    for epoch in 1..=4 {
        let answer = client.fetch(&small(within(id, epoch, &[]))).await;
        served.extend(told(&answer).into_iter().filter(|(_, records)| *records).map(|(partition, _)| partition));
    }
    assert_eq!(served, [0, 1, 2, 0]);
}

#[tokio::test]
async fn an_error_is_told_each_time_and_its_end_too() {
    let broker = orders(2).await;
    let mut client = Client::pipe(&broker);
    let id = client.fetch(&within(0, 0, &[(0, 0), (1, 0)])).await.session_id;
    // The fault finds its partition though no request names it.
    let fault = broker.inject(Fault::on(Api::Fetch).topic("orders").partition(1).times(2).error(ErrorCode(6)));
    for epoch in 1..=2 {
        let answer = client.fetch(&within(id, epoch, &[])).await;
        assert_eq!((told(&answer), answer.responses[0].partitions[0].error_code), (vec![(1, false)], 6));
    }
    let over = client.fetch(&within(id, 3, &[])).await;
    assert_eq!((told(&over), over.responses[0].partitions[0].error_code), (vec![(1, false)], 0));
    assert_eq!((told(&client.fetch(&within(id, 4, &[])).await), fault.fired()), (vec![], 2));
}

#[tokio::test]
async fn sessions_have_their_errors() {
    let broker = orders(1).await;
    let mut client = Client::pipe(&broker);
    assert_eq!(client.fetch(&within(77, 1, &[(0, 0)])).await.error_code, 70, "FETCH_SESSION_ID_NOT_FOUND");
    let id = client.fetch(&within(0, 0, &[(0, 0)])).await.session_id;
    assert_eq!(client.fetch(&within(id, 2, &[])).await.error_code, 71, "INVALID_FETCH_SESSION_EPOCH");
    let mut by_id = within(id, 1, &[]);
    by_id.topics.clear();
    assert_eq!(client.call(13, &by_id).await.error_code, 106, "FETCH_SESSION_TOPIC_ID_ERROR");
    assert_eq!(client.fetch(&within(id, 1, &[])).await.error_code, 0, "a refused fetch changes nothing");
    let closed = client.fetch(&within(id, -1, &[])).await;
    assert_eq!((closed.error_code, closed.session_id), (0, 0));
    assert_eq!(client.fetch(&within(id, 2, &[])).await.error_code, 70);
}

#[tokio::test]
async fn a_session_belongs_to_no_connection_and_does_not_survive_the_broker() {
    let broker = orders(1).await;
    let id = Client::tcp(&broker).await.fetch(&within(0, 0, &[(0, 0)])).await.session_id;
    append(&broker, 0);
    assert_eq!(told(&Client::tcp(&broker).await.fetch(&within(id, 1, &[])).await), [(0, true)]);
    broker.go_down().await;
    broker.come_back().await.unwrap();
    assert_eq!(Client::tcp(&broker).await.fetch(&within(id, 2, &[])).await.error_code, 70);
}

#[tokio::test]
async fn sessions_are_bounded_and_one_that_reopens_makes_room() {
    let broker = Broker::builder().fetch_sessions(2).start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let mut client = Client::pipe(&broker);
    let mut open = async |old| client.fetch(&within(old, 0, &[(0, 0)])).await.session_id;
    let (first, second, third) = (open(0).await, open(0).await, open(0).await);
    assert!(first > 0 && second > 0 && third == 0, "{first} {second} {third}");
    assert!(open(first).await > 0);
}

#[tokio::test]
async fn topics_by_id_are_known_in_a_session_and_missed_once_they_are_gone() {
    let broker = orders(1).await;
    let id = broker.topic_id("orders").unwrap();
    let mut client = Client::pipe(&broker);
    let partition = FetchPartition::default().with_partition_max_bytes(1_000);
    let topic = FetchTopic::default().with_topic_id(id).with_partitions(vec![partition]);
    let open = FetchRequest::default().with_max_bytes(1_000).with_session_epoch(0).with_topics(vec![topic]);
    let session = client.call(17, &open).await.session_id;
    let next = |epoch| FetchRequest::default().with_max_bytes(1_000).with_session_id(session).with_session_epoch(epoch);
    assert_eq!(client.call(17, &next(1)).await.responses, []);
    broker.recreate_topic("orders").unwrap();
    let answer = client.call(17, &next(2).with_max_wait_ms(i32::MAX)).await;
    assert_eq!((answer.responses[0].topic_id, answer.responses[0].partitions[0].error_code), (id, 100));
    assert_ne!(id, Uuid::nil());
}

#[tokio::test(start_paused = true)]
async fn a_fetch_within_a_session_waits_for_records_of_partitions_it_does_not_name() {
    let broker = orders(2).await;
    let mut client = Client::pipe(&broker);
    let id = client.fetch(&within(0, 0, &[(0, 0), (1, 0)])).await.session_id;
    let correlation = client.send(12, &within(id, 1, &[]).with_max_wait_ms(60_000)).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    append(&broker, 1);
    let started = tokio::time::Instant::now();
    let answer = client.receive::<FetchRequest>(12, correlation).await.unwrap();
    assert_eq!((told(&answer), started.elapsed().as_secs()), (vec![(1, true)], 0));
}
