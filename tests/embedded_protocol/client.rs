use bezoar::embedded::Broker;
use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{FetchRequest, FetchResponse, ProduceRequest, RequestHeader, ResponseHeader, TopicName};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;

/// A client that sends what it is told to and knows nothing.
pub(crate) struct Client<S> {
    pub(crate) stream: S,
    correlation: i32,
}

impl Client<TcpStream> {
    pub(crate) async fn tcp(broker: &Broker) -> Self {
        Self { stream: TcpStream::connect(broker.address()).await.unwrap(), correlation: 0 }
    }
}

impl Client<DuplexStream> {
    pub(crate) fn pipe(broker: &Broker) -> Self {
        Self { stream: broker.connect(), correlation: 0 }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) async fn send<R: Request>(&mut self, version: i16, request: &R) -> i32 {
        self.correlation += 1;
        let mut buffer = BytesMut::new();
        buffer.put_i32(0);
        RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation)
            .with_client_id(Some(text("test")))
            .encode(&mut buffer, R::header_version(version))
            .unwrap();
        request.encode(&mut buffer, version).unwrap();
        let length = (buffer.len() - 4) as i32;
        buffer[..4].copy_from_slice(&length.to_be_bytes());
        self.stream.write_all(&buffer).await.unwrap();
        self.correlation
    }

    /// The next frame without its length; `None` once the broker has closed the connection.
    pub(crate) async fn frame(&mut self) -> Option<Bytes> {
        let length = self.stream.read_i32().await.ok()?;
        let mut frame = vec![0; length as usize];
        self.stream.read_exact(&mut frame).await.ok()?;
        Some(frame.into())
    }

    pub(crate) async fn receive<R: Request>(&mut self, version: i16, correlation: i32) -> Option<R::Response> {
        let mut frame = self.frame().await?;
        let header = ResponseHeader::decode(&mut frame, R::Response::header_version(version)).unwrap();
        assert_eq!(header.correlation_id, correlation);
        Some(R::Response::decode(&mut frame, version).unwrap())
    }

    /// Sends a request and waits for its answer; `None` where the broker closes the connection instead.
    pub(crate) async fn try_call<R: Request>(&mut self, version: i16, request: &R) -> Option<R::Response> {
        let correlation = self.send(version, request).await;
        self.receive::<R>(version, correlation).await
    }

    pub(crate) async fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        self.try_call(version, request).await.expect("the broker closed the connection")
    }

    /// Produces to one partition, acknowledged by all, and returns its answer.
    pub(crate) async fn produce(&mut self, topic: &str, partition: i32, batch: Bytes) -> PartitionProduceResponse {
        let answer = self.call(9, &produce(-1, topic, partition, batch)).await;
        answer.responses[0].partition_responses[0].clone()
    }

    pub(crate) async fn fetch(&mut self, request: &FetchRequest) -> FetchResponse {
        self.call(12, request).await
    }
}

pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

pub(crate) fn topic_name(name: &str) -> TopicName {
    TopicName(text(name))
}

pub(crate) fn produce(acks: i16, topic: &str, partition: i32, batch: Bytes) -> ProduceRequest {
    let data = PartitionProduceData::default().with_index(partition).with_records(Some(batch));
    let data = TopicProduceData::default().with_name(topic_name(topic)).with_partition_data(vec![data]);
    ProduceRequest::default().with_acks(acks).with_timeout_ms(1_000).with_topic_data(vec![data])
}

/// A fetch of partitions of `topic` from these offsets on, without waiting and almost without limits.
pub(crate) fn fetch(topic: &str, offsets: &[(i32, i64)]) -> FetchRequest {
    let partitions = offsets.iter().map(|(partition, offset)| {
        FetchPartition::default()
            .with_partition(*partition)
            .with_fetch_offset(*offset)
            .with_partition_max_bytes(1 << 20)
    });
    let topic = FetchTopic::default().with_topic(topic_name(topic)).with_partitions(partitions.collect());
    FetchRequest::default().with_max_bytes(50 << 20).with_min_bytes(1).with_max_wait_ms(0).with_topics(vec![topic])
}
