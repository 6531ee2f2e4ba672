//! A broker that answers by a script, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, BrokerId, CreateTopicsRequest, CreateTopicsResponse, ListOffsetsRequest,
    ListOffsetsResponse, MetadataRequest, MetadataResponse, RequestHeader, ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// API keys, with the versions spoken.
pub(crate) type Spoken = &'static [(i16, i16, i16)];

/// What Kafka 4 speaks, as far as it is asked here.
pub(crate) const NEW: Spoken = &[(2, 1, 11), (3, 0, 13), (18, 0, 4), (19, 2, 7)];
/// What Kafka 2.1 speaks.
pub(crate) const OLD: Spoken = &[(2, 0, 4), (3, 0, 7), (18, 0, 2), (19, 0, 3)];

/// One broker.
pub(crate) struct Peer {
    pub(crate) spoken: Spoken,
    /// What it says of the cluster. Each topic asked for has one partition, which `leader` leads.
    pub(crate) told: Mutex<Told>,
    /// What it was asked: API key and version.
    asked: Mutex<Vec<(i16, i16)>>,
}

#[derive(Clone)]
pub(crate) struct Told {
    pub(crate) cluster: &'static str,
    pub(crate) brokers: Vec<(i32, &'static str, i32)>,
    pub(crate) leader: (i32, i32),
    /// Throttle time of its next answer to ListOffsets, in milliseconds.
    pub(crate) throttle: i32,
    /// The answer to ListOffsets: an error code, and the offset.
    pub(crate) offset: (i16, i64),
}

impl Peer {
    /// A broker alone in its cluster, at this address.
    pub(crate) fn alone(cluster: &'static str, host: &'static str, spoken: Spoken) -> Arc<Self> {
        Self::among(cluster, vec![(1, host, 9092)], spoken)
    }

    pub(crate) fn among(cluster: &'static str, brokers: Vec<(i32, &'static str, i32)>, spoken: Spoken) -> Arc<Self> {
        let leader = (brokers[0].0, 0);
        let told = Told { cluster, brokers, leader, throttle: 0, offset: (0, 7) };
        Arc::new(Self { spoken, told: Mutex::new(told), asked: Mutex::default() })
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Told)) {
        change(&mut self.told.lock().unwrap());
    }

    /// The versions in which it was asked for an API, in order.
    pub(crate) fn asked(&self, api: i16) -> Vec<i16> {
        self.asked.lock().unwrap().iter().filter(|(key, _)| *key == api).map(|(_, version)| *version).collect()
    }

    /// The keys of all that it was asked for, in order.
    pub(crate) fn all_asked(&self) -> Vec<i16> {
        self.asked.lock().unwrap().iter().map(|(key, _)| *key).collect()
    }

    fn answer(&self, key: i16, version: i16, body: &mut Bytes) -> BytesMut {
        self.asked.lock().unwrap().push((key, version));
        let told = self.told.lock().unwrap().clone();
        let spoken = self.spoken.iter().find(|(api, _, _)| *api == key).expect("an API that it speaks");
        let understood = (spoken.1..=spoken.2).contains(&version);
        match key {
            ApiVersionsRequest::KEY => {
                let api = |(key, min, max): &(i16, i16, i16)| {
                    ApiVersion::default().with_api_key(*key).with_min_version(*min).with_max_version(*max)
                };
                if understood {
                    let apis = self.spoken.iter().map(api).collect();
                    encode::<ApiVersionsRequest>(version, &ApiVersionsResponse::default().with_api_keys(apis))
                } else {
                    encode::<ApiVersionsRequest>(0, &ApiVersionsResponse::default().with_error_code(35))
                }
            }
            _ if !understood => panic!("API {key} asked for in version {version}"),
            MetadataRequest::KEY => {
                let request = MetadataRequest::decode(body, version).unwrap();
                encode::<MetadataRequest>(version, &Self::metadata(&told, version, request))
            }
            ListOffsetsRequest::KEY => {
                let request = ListOffsetsRequest::decode(body, version).unwrap();
                let throttle = std::mem::take(&mut self.told.lock().unwrap().throttle);
                encode::<ListOffsetsRequest>(version, &offsets(&told, request).with_throttle_time_ms(throttle))
            }
            _ => {
                let request = CreateTopicsRequest::decode(body, version).unwrap();
                let topics =
                    request.topics.into_iter().map(|topic| CreatableTopicResult::default().with_name(topic.name));
                encode::<CreateTopicsRequest>(version, &CreateTopicsResponse::default().with_topics(topics.collect()))
            }
        }
    }

    fn metadata(told: &Told, version: i16, request: MetadataRequest) -> MetadataResponse {
        let names = request.topics.unwrap().into_iter().map(|topic| topic.name);
        let topics: Vec<_> = names
            .map(|name| {
                let mut partition = MetadataResponsePartition::default().with_leader_id(BrokerId(told.leader.0));
                if version >= 7 {
                    partition = partition.with_leader_epoch(told.leader.1);
                }
                MetadataResponseTopic::default().with_name(name).with_partitions(vec![partition])
            })
            .collect();
        let brokers = told.brokers.iter().map(|(id, host, port)| {
            MetadataResponseBroker::default()
                .with_node_id(BrokerId(*id))
                .with_host(StrBytes::from_static_str(host))
                .with_port(*port)
        });
        MetadataResponse::default()
            .with_brokers(brokers.collect())
            .with_cluster_id(Some(StrBytes::from_static_str(told.cluster)))
            .with_controller_id(BrokerId(told.brokers[0].0))
            .with_topics(topics)
    }
}

fn offsets(told: &Told, request: ListOffsetsRequest) -> ListOffsetsResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            ListOffsetsPartitionResponse::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(told.offset.0)
                .with_offset(told.offset.1)
        });
        ListOffsetsTopicResponse::default().with_name(topic.name).with_partitions(partitions.collect())
    });
    ListOffsetsResponse::default().with_topics(topics.collect())
}

fn encode<R: Request>(version: i16, answer: &R::Response) -> BytesMut {
    let mut body = BytesMut::new();
    ResponseHeader::default().encode(&mut body, R::Response::header_version(version)).unwrap();
    answer.encode(&mut body, version).unwrap();
    body
}

/// Answers each request in turn, until the client hangs up.
pub(crate) async fn serve(peer: Arc<Peer>, mut stream: DuplexStream) {
    while let Ok(length) = stream.read_u32().await {
        let mut frame = vec![0; length as usize];
        stream.read_exact(&mut frame).await.unwrap();
        let mut frame = Bytes::from(frame);
        let (key, version) = ((&frame[..2]).get_i16(), (&frame[2..4]).get_i16());
        let header = match key {
            ApiVersionsRequest::KEY => ApiVersionsRequest::header_version(version),
            MetadataRequest::KEY => MetadataRequest::header_version(version),
            ListOffsetsRequest::KEY => ListOffsetsRequest::header_version(version),
            _ => CreateTopicsRequest::header_version(version),
        };
        let header = RequestHeader::decode(&mut frame, header).unwrap();
        let mut answer = peer.answer(key, version, &mut frame);
        answer[..4].copy_from_slice(&header.correlation_id.to_be_bytes());
        let mut out = (answer.len() as u32).to_be_bytes().to_vec();
        out.extend(answer);
        if stream.write_all(&out).await.is_err() {
            return;
        }
    }
}
