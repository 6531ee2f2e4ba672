//! Requests that no adapter makes, so that what other clients write can be tested.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::produce_request::{PartitionProduceData, ProduceRequest, TopicProduceData};
use kafka_protocol::messages::{RequestHeader, ResponseHeader, TopicName, TransactionalId};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

pub(crate) fn name(topic: &str) -> TopicName {
    TopicName(text(topic))
}

/// Sends one request over a connection of its own and returns the answer.
pub(crate) async fn call<R: Request>(address: &str, request: R, version: i16) -> R::Response {
    let mut frame = BytesMut::zeroed(4);
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(1)
        .with_client_id(Some(text("conformance")));
    header.encode(&mut frame, R::header_version(version)).unwrap();
    request.encode(&mut frame, version).unwrap();
    let length = frame.len() as u32 - 4;
    frame[..4].copy_from_slice(&length.to_be_bytes());

    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&frame).await.unwrap();
    let mut answer = vec![0; stream.read_u32().await.unwrap() as usize];
    stream.read_exact(&mut answer).await.unwrap();
    let mut answer = Bytes::from(answer);
    ResponseHeader::decode(&mut answer, R::Response::header_version(version)).unwrap();
    R::Response::decode(&mut answer, version).unwrap()
}

/// Asks again while the answer's error code is one that passes.
pub(crate) async fn retried<T>(mut ask: impl AsyncFnMut() -> (i16, T)) -> T {
    for _ in 0..600 {
        let (code, value) = ask().await;
        if code == 0 {
            return value;
        }
        let error = ResponseError::try_from_code(code).unwrap();
        let passes = error.is_retriable() || error == ResponseError::ConcurrentTransactions;
        assert!(passes, "{error:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the broker is not ready in time");
}

/// Produces a batch as it is, and returns its offset.
pub(crate) async fn produce(address: &str, topic: &str, transaction: Option<&str>, batch: Bytes) -> i64 {
    retried(async || try_produce(address, topic, transaction, batch.clone()).await).await
}

/// Produces a batch as it is to a topic's first partition, and returns the answer's error code and its offset.
pub(crate) async fn try_produce(address: &str, topic: &str, transaction: Option<&str>, batch: Bytes) -> (i16, i64) {
    let data = PartitionProduceData::default().with_index(0).with_records(Some(batch));
    let topic = TopicProduceData::default().with_name(name(topic)).with_partition_data(vec![data]);
    let request = ProduceRequest::default()
        .with_transactional_id(transaction.map(|id| TransactionalId(text(id))))
        .with_acks(-1)
        .with_timeout_ms(30_000)
        .with_topic_data(vec![topic]);
    let answer = call(address, request, 7).await;
    let answer = &answer.responses[0].partition_responses[0];
    (answer.error_code, answer.base_offset)
}
