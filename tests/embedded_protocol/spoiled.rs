//! Answers that no broker should give.

use std::time::Duration;

use bezoar::embedded::{Api, BatchWriter, Broker, Fault};
use bytes::{Buf, Bytes};
use kafka_protocol::messages::{
    ApiVersionsRequest, FetchRequest, FetchResponse, InitProducerIdRequest, MetadataRequest, ResponseHeader,
};
use kafka_protocol::protocol::Decodable;
use tokio::io::{AsyncReadExt, DuplexStream};

use crate::client::{Client, fetch, produce, text};

const VERSION: i16 = 12;

fn batch() -> Bytes {
    BatchWriter::new().record(Some(b"k"), Some(b"v"), vec![]).build()
}

async fn orders() -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    broker.append_raw("orders", 0, batch()).unwrap();
    broker
}

/// All bytes of the answer to a fetch, those after the frame's announced end included, until none come for a while.
async fn bytes_of_a_fetch(client: &mut Client<DuplexStream>, request: &FetchRequest) -> Vec<u8> {
    client.send(VERSION, request).await;
    let mut bytes = Vec::new();
    while let Ok(Ok(read)) = tokio::time::timeout(Duration::from_secs(60), client.stream.read_buf(&mut bytes)).await {
        if read == 0 {
            break;
        }
    }
    bytes
}

fn decoded(bytes: &[u8]) -> (i32, Option<FetchResponse>) {
    let mut frame = Bytes::copy_from_slice(&bytes[4..]);
    let correlation = frame.clone().get_i32();
    ResponseHeader::decode(&mut frame, 1).unwrap();
    (correlation, FetchResponse::decode(&mut frame, VERSION).ok())
}

fn first_batch(answer: &FetchResponse) -> &Bytes {
    answer.responses[0].partitions[0].records.as_ref().unwrap()
}

#[tokio::test(start_paused = true)]
async fn frames_lie_about_their_length_or_break_off() {
    let broker = orders().await;
    let request = fetch("orders", &[(0, 0)]);
    let whole = bytes_of_a_fetch(&mut Client::pipe(&broker), &request).await;
    let announced = |bytes: &[u8]| i32::from_be_bytes(bytes[..4].try_into().unwrap());
    assert_eq!(announced(&whole) as usize, whole.len() - 4);

    broker.inject(Fault::on(Api::Fetch).cut_short(20));
    let cut = bytes_of_a_fetch(&mut Client::pipe(&broker), &request).await;
    assert_eq!((announced(&cut), cut.len(), &cut[4..]), (20, 24, &whole[4..24]));
    assert_eq!(decoded(&cut).1, None);

    broker.inject(Fault::on(Api::Fetch).break_off(30));
    let broken = bytes_of_a_fetch(&mut Client::pipe(&broker), &request).await;
    assert_eq!(broken, whole[..30]);

    for length in [i32::MAX, -1, 0, 7] {
        broker.inject(Fault::on(Api::Fetch).frame_length(length));
        let lying = bytes_of_a_fetch(&mut Client::pipe(&broker), &request).await;
        assert_eq!((announced(&lying), &lying[4..]), (length, &whole[4..]));
    }
    assert_eq!(bytes_of_a_fetch(&mut Client::pipe(&broker), &request).await, whole, "the faults are spent");
}

#[tokio::test(start_paused = true)]
async fn answers_are_not_what_they_should_be() {
    let broker = orders().await;
    let request = fetch("orders", &[(0, 0)]);
    let whole = bytes_of_a_fetch(&mut Client::pipe(&broker), &request).await;

    broker.inject(Fault::on(Api::Fetch).wrong_correlation_id());
    let (correlation, answer) = decoded(&bytes_of_a_fetch(&mut Client::pipe(&broker), &request).await);
    assert!(correlation != 1 && answer.is_some());

    broker.inject(Fault::on(Api::Fetch).garbage());
    let noise = bytes_of_a_fetch(&mut Client::pipe(&broker), &request).await;
    assert_eq!((noise.len(), &noise[..8]), (whole.len(), &whole[..8]));
    assert_ne!(noise[8..], whole[8..]);

    for count in [-1, -2, i32::MIN, 2, i32::MAX] {
        broker.inject(Fault::on(Api::Fetch).array_count(count));
        let bytes = bytes_of_a_fetch(&mut Client::pipe(&broker), &request).await;
        assert_eq!(i32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize, bytes.len() - 4, "{count}");
        // Length, correlation id, tagged fields, throttle time, error, session id; then the count, one larger.
        let mut rest = &bytes[4 + 4 + 1 + 4 + 2 + 4..];
        let mut announced = 0u64;
        for index in 0.. {
            let byte = rest.get_u8();
            announced |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                break;
            }
        }
        assert_eq!(announced as u32, (count as u32).wrapping_add(1));
        assert!(whole.ends_with(rest), "nothing else is changed");
    }
}

#[tokio::test(start_paused = true)]
async fn damage_to_batches_waits_for_a_batch() {
    let broker = orders().await;
    let fault = broker.inject(Fault::on(Api::Fetch).topic("orders").wrong_crc());
    let mut client = Client::pipe(&broker);
    client.fetch(&fetch("orders", &[(0, 1)])).await;
    assert_eq!(fault.fired(), 0);
    let damaged = client.fetch(&fetch("orders", &[(0, 0)])).await;
    assert_eq!(fault.fired(), 1);
    let sound = client.fetch(&fetch("orders", &[(0, 0)])).await;
    let (damaged, sound) = (first_batch(&damaged), first_batch(&sound));
    let differ: Vec<_> = (0..sound.len()).filter(|at| sound[*at] != damaged[*at]).collect();
    assert!(!differ.is_empty() && differ.iter().all(|at| (17..21).contains(at)), "{differ:?}");

    broker.inject(Fault::on(Api::Fetch).batch_length(-5));
    let answer = client.fetch(&fetch("orders", &[(0, 0)])).await;
    assert_eq!(first_batch(&answer)[8..12], (-5i32).to_be_bytes());
    broker.inject(Fault::on(Api::Fetch).record_count(-1));
    let answer = client.fetch(&fetch("orders", &[(0, 0)])).await;
    let batch = first_batch(&answer);
    assert_eq!(batch[57..61], (-1i32).to_be_bytes());
    assert_eq!(batch[17..21], crc32c::crc32c(&batch[21..]).to_be_bytes(), "the CRC does not give it away");
}

#[tokio::test(start_paused = true)]
async fn a_fault_hits_a_fetch_that_waits_already() {
    let broker = orders().await;
    let mut client = Client::pipe(&broker);
    let correlation = client.send(VERSION, &fetch("orders", &[(0, 1)]).with_max_wait_ms(60_000)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let fault = broker.inject(Fault::on(Api::Fetch).topic("orders").partition(0).wrong_crc());
    broker.append_raw("orders", 0, batch()).unwrap();
    client.receive::<FetchRequest>(VERSION, correlation).await.unwrap();
    assert_eq!(fault.fired(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_come_in_two_pieces() {
    let broker = orders().await;
    broker.inject(Fault::on(Api::Fetch).in_two_pieces(10, Duration::from_secs(20)));
    let mut client = Client::pipe(&broker);
    let started = tokio::time::Instant::now();
    let answer = client.fetch(&fetch("orders", &[(0, 0)])).await;
    assert_eq!((answer.error_code, started.elapsed().as_secs()), (0, 20));
}

#[tokio::test]
async fn any_answer_can_tell_the_client_to_wait() {
    let broker = orders().await;
    let wait = Duration::from_millis(1_234);
    for api in [Api::Fetch, Api::Produce, Api::Metadata, Api::ApiVersions, Api::InitProducerId] {
        broker.inject(Fault::on(api).throttle(wait));
    }
    let mut client = Client::tcp(&broker).await;
    assert_eq!(client.fetch(&fetch("orders", &[(0, 0)])).await.throttle_time_ms, 1_234);
    assert_eq!(client.call(9, &produce(-1, "orders", 0, batch())).await.throttle_time_ms, 1_234);
    assert_eq!(client.call(12, &MetadataRequest::default()).await.throttle_time_ms, 1_234);
    let versions = ApiVersionsRequest::default().with_client_software_name(text("t"));
    let versions = versions.with_client_software_version(text("1"));
    assert_eq!(client.call(3, &versions).await.throttle_time_ms, 1_234);
    let init = InitProducerIdRequest::default().with_transactional_id(None);
    assert_eq!(client.call(4, &init).await.throttle_time_ms, 1_234);
    assert_eq!(client.call(4, &init).await.throttle_time_ms, 0);
}

#[tokio::test]
async fn a_count_is_changed_in_answers_of_any_api_and_version() {
    let broker = orders().await;
    for (version, header) in [(1, 4), (8, 4), (12, 5)] {
        broker.inject(Fault::on(Api::Metadata).array_count(0));
        let mut client = Client::tcp(&broker).await;
        client.send(version, &MetadataRequest::default()).await;
        let frame = client.frame().await.unwrap();
        let at = header + if version >= 3 { 4 } else { 0 };
        let none: &[u8] = if version >= 9 { &[1] } else { &[0; 4] };
        assert_eq!(&frame[at..at + none.len()], none, "version {version}");
    }
    let fault = broker.inject(Fault::on(Api::InitProducerId).array_count(3));
    let init = InitProducerIdRequest::default().with_transactional_id(None);
    assert_eq!(Client::tcp(&broker).await.call(4, &init).await.error_code, 0);
    assert_eq!(fault.fired(), 0, "there is no array in that answer");
}
