use bezoar::embedded::{Api, Broker};
use bytes::{BufMut, BytesMut};
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse, ListGroupsRequest};
use kafka_protocol::protocol::Decodable;
use proptest::prelude::*;
use tokio::io::AsyncWriteExt;

use crate::client::{Client, fetch, text};

fn header(key: i16, version: i16) -> BytesMut {
    let mut frame = BytesMut::new();
    frame.put_i16(key);
    frame.put_i16(version);
    frame.put_i32(5);
    frame.put_i16(-1);
    frame
}

fn framed(body: &[u8]) -> BytesMut {
    let mut frame = BytesMut::new();
    frame.put_i32(body.len() as i32);
    frame.put_slice(body);
    frame
}

/// Whether a client that says nothing wrong is served.
async fn serves(broker: &Broker) -> bool {
    let request = ApiVersionsRequest::default();
    let request = request.with_client_software_name(text("test")).with_client_software_version(text("1"));
    Client::tcp(broker).await.try_call(3, &request).await.is_some_and(|answer| answer.error_code == 0)
}

#[tokio::test]
async fn a_version_from_the_future_is_told_what_is_served() {
    let broker = Broker::start().await.unwrap();
    let mut client = Client::tcp(&broker).await;
    client.stream.write_all(&framed(&header(18, 99))).await.unwrap();
    let mut frame = client.frame().await.unwrap();
    assert_eq!(frame.split_to(4)[..], 5i32.to_be_bytes());
    let answer = ApiVersionsResponse::decode(&mut frame, 0).unwrap();
    assert_eq!(answer.error_code, 35);
    let fetch = answer.api_keys.iter().find(|one| one.api_key == Api::Fetch.key()).unwrap();
    assert_eq!((fetch.min_version, fetch.max_version), (4, 17));
    // The connection goes on.
    assert_eq!(client.call(4, &ListGroupsRequest::default()).await.error_code, 0);
}

#[tokio::test]
async fn what_is_no_request_closes_the_connection_and_nothing_else() {
    let broker = Broker::builder().max_request_bytes(1_000).start().await.unwrap();
    let mut truncated = header(3, 1);
    truncated.put_i32(7);
    let mut huge_array = header(3, 1);
    huge_array.put_i32(i32::MAX);
    for (what, bytes) in [
        ("no header", framed(b"abc")),
        ("an empty frame", framed(b"")),
        ("a negative length", BytesMut::from(&(-1i32).to_be_bytes()[..])),
        ("a length beyond the limit", BytesMut::from(&1_001i32.to_be_bytes()[..])),
        ("the largest length", BytesMut::from(&i32::MAX.to_be_bytes()[..])),
        ("an unknown API", framed(&header(900, 0))),
        ("an API that is not served", framed(&header(11, 5))),
        ("a version that is not served", framed(&header(3, 99))),
        ("a version before the first", framed(&header(0, 2))),
        ("an array without its elements", framed(&truncated)),
        ("an array of two billion", framed(&huge_array)),
        ("HTTP", BytesMut::from(&b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n"[..])),
    ] {
        let mut client = Client::tcp(&broker).await;
        client.stream.write_all(&bytes).await.unwrap();
        assert_eq!(client.frame().await, None, "{what}");
        assert!(serves(&broker).await, "after {what}");
    }
}

#[tokio::test]
async fn a_client_that_stops_in_the_middle_of_a_frame_is_let_go() {
    let broker = Broker::start().await.unwrap();
    let mut client = Client::tcp(&broker).await;
    client.stream.write_all(&framed(&header(3, 1))[..9]).await.unwrap();
    client.stream.shutdown().await.unwrap();
    assert_eq!(client.frame().await, None);
    assert!(serves(&broker).await);
}

#[tokio::test]
async fn requests_sent_in_a_row_are_answered_in_their_order() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let mut client = Client::tcp(&broker).await;
    // The first one waits; those after it must not overtake.
    let waiting = client.send(12, &fetch("orders", &[(0, 0)]).with_max_wait_ms(50)).await;
    let mut correlations = Vec::new();
    for _ in 0..20 {
        correlations.push(client.send(4, &ListGroupsRequest::default()).await);
    }
    client.receive::<kafka_protocol::messages::FetchRequest>(12, waiting).await.unwrap();
    for correlation in correlations {
        client.receive::<ListGroupsRequest>(4, correlation).await.unwrap();
    }
}

#[test]
fn arbitrary_bytes_leave_the_broker_standing() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let broker = runtime.block_on(Broker::start()).unwrap();
    let frames =
        prop::collection::vec((0i16..50, 0i16..14, prop::collection::vec(any::<u8>(), 0..120), any::<bool>()), 1..6);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    let outcome = runner.run(&frames, |frames| {
        runtime.block_on(async {
            let mut client = Client::tcp(&broker).await;
            for (key, version, rest, is_framed) in frames {
                let mut body = header(key, version);
                body.put_slice(&rest);
                let bytes = if is_framed { framed(&body) } else { BytesMut::from(&rest[..]) };
                // The broker may have closed already.
                let _ = client.stream.write_all(&bytes).await;
            }
            drop(client);
            prop_assert!(serves(&broker).await);
            Ok(())
        })
    });
    outcome.unwrap();
}
