//! Connections that send anything to the embedded broker: every request is answered or its connection closed, nothing
//! panics, and the broker goes on serving others. Time is paused, so that waits of any length pass at once.

#![no_main]

use std::time::Duration;

use bezoar::embedded::{Api, BatchWriter, Broker, fuzz_frame};
use bezoar::record::Header;
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{ProduceRequest, RequestHeader, TopicName};
use kafka_protocol::protocol::{Encodable, HeaderVersion, StrBytes};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

#[derive(Debug, Arbitrary)]
enum Sent {
    /// Bytes at random.
    Frame(Vec<u8>),
    /// A request that has at least the start of its header right.
    Request { api: u8, version: u8, rest: Vec<u8> },
    /// A batch with some bytes changed and others after it, within a request that is right.
    Batch { acks: i8, partition: i8, changes: Vec<(u8, u8)>, rest: Vec<u8>, repair: bool },
    /// Something that tests do to a log meanwhile.
    Act { partition: i8, act: Act },
}

#[derive(Debug, Arbitrary)]
enum Act {
    Compact,
    Truncate(i8),
    SetStart(i8),
    BumpEpoch,
    HangTransaction,
}

impl Act {
    /// Acts on partitions that are not there are refused; no offset does harm.
    fn perform(&self, broker: &Broker, partition: i32) {
        let outcome = match self {
            Self::Compact => broker.compact("orders", partition),
            Self::Truncate(offset) => broker.truncate("orders", partition, (*offset).into()).map(drop),
            Self::SetStart(offset) => broker.set_log_start("orders", partition, (*offset).into()),
            Self::BumpEpoch => broker.bump_leader_epoch("orders", partition).map(drop),
            Self::HangTransaction => broker.hang_transaction("orders", partition).map(drop),
        };
        assert_eq!(outcome.is_ok(), broker.end_offset("orders", partition).is_some());
    }
}

const CORRELATION: [u8; 4] = [0, 0, 0, 7];
const PRODUCE: [u8; 2] = [0, 0];
/// Longer than any wait that a request can ask for (about 25 days).
const FOR_EVER: Duration = Duration::from_secs(30 * 24 * 3600);

impl Sent {
    fn into_frame(self) -> Vec<u8> {
        match self {
            Self::Frame(bytes) => bytes,
            Self::Request { api, version, rest } => {
                let api = Api::ALL[usize::from(api) % Api::ALL.len()];
                let mut frame = api.key().to_be_bytes().to_vec();
                frame.extend([0, version % 20]);
                frame.extend(CORRELATION);
                frame.extend(rest);
                frame
            }
            Self::Batch { acks, partition, changes, rest, repair } => {
                let batch = changed(changes, rest);
                produce(acks.into(), partition.into(), if repair { repaired(batch) } else { batch })
            }
            Self::Act { .. } => Vec::new(),
        }
    }
}

fn produce(acks: i16, partition: i32, batch: Vec<u8>) -> Vec<u8> {
    const VERSION: i16 = 9;
    let partition = PartitionProduceData::default().with_index(partition).with_records(Some(batch.into()));
    let topic = TopicProduceData::default()
        .with_name(TopicName(StrBytes::from_static_str("orders")))
        .with_partition_data(vec![partition]);
    let request = ProduceRequest::default().with_acks(acks).with_timeout_ms(1000).with_topic_data(vec![topic]);
    let header = RequestHeader::default().with_request_api_version(VERSION).with_correlation_id(7);
    let mut frame = BytesMut::new();
    header.encode(&mut frame, ProduceRequest::header_version(VERSION)).expect("a header that is right");
    request.encode(&mut frame, VERSION).expect("a request that is right");
    frame.to_vec()
}

fn changed(changes: Vec<(u8, u8)>, rest: Vec<u8>) -> Vec<u8> {
    let mut batch = BatchWriter::new()
        .record(Some(b"key"), Some(b"value"), vec![Header::new("name", "value"), Header::null("name")])
        .record(None, None, Vec::new())
        .build()
        .to_vec();
    for (at, byte) in changes {
        let at = usize::from(at) % batch.len();
        batch[at] = byte;
    }
    batch.extend(rest);
    batch
}

/// Gives a batch the length, the format version and the checksum that chance would never find.
fn repaired(mut batch: Vec<u8>) -> Vec<u8> {
    let length = batch.len() as u32 - 12;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    batch[16] = 2;
    let checksum = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&checksum.to_be_bytes());
    batch
}

enum Answer {
    Frame(Bytes),
    Silence,
    Closed,
}

async fn ask(connection: &mut DuplexStream, frame: &[u8]) -> Answer {
    let mut request = (frame.len() as u32).to_be_bytes().to_vec();
    request.extend(frame);
    if connection.write_all(&request).await.is_err() {
        return Answer::Closed;
    }
    match tokio::time::timeout(FOR_EVER, connection.read_u32()).await {
        Err(_) => Answer::Silence,
        Ok(Err(_)) => Answer::Closed,
        Ok(Ok(length)) => {
            let mut answer = vec![0; length as usize];
            connection.read_exact(&mut answer).await.expect("an answer as long as it says");
            Answer::Frame(answer.into())
        }
    }
}

async fn converse(sent: Vec<Sent>) {
    let broker = Broker::start().await.expect("a loopback port");
    broker.create_topic("orders", 2).expect("a new topic");
    let mut connection = broker.connect();
    for sent in sent {
        if let Sent::Act { partition, act } = &sent {
            act.perform(&broker, (*partition).into());
            continue;
        }
        let frame = sent.into_frame();
        let understood = fuzz_frame(&frame);
        match ask(&mut connection, &frame).await {
            Answer::Frame(answer) => {
                assert!(understood, "what cannot be decoded is not answered");
                assert_eq!(answer[..4], frame[4..8], "the answer belongs to the request");
            }
            Answer::Silence => assert_eq!(frame[..2], PRODUCE, "only producing can ask for no answer"),
            Answer::Closed => {
                assert!(!understood || frame[..2] == PRODUCE, "a request that was understood is answered");
                connection = broker.connect();
            }
        }
    }
    for partition in 0..2 {
        // What was stored may hold records that cannot be read, as in Kafka; that is said, and nothing panics.
        let _ = broker.records("orders", partition);
    }
    let served = ask(&mut broker.connect(), &[0, 18, 0, 0, 0, 0, 0, 7, 0, 0]).await;
    assert!(matches!(served, Answer::Frame(_)), "the broker still serves others");
    broker.shutdown().await;
}

fuzz_target!(|sent: Vec<Sent>| {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime")
        .block_on(converse(sent));
});
