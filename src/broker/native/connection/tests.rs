use std::time::Duration;

use kafka_protocol::messages::{
    ApiVersionsResponse, DeleteGroupsRequest, DeleteGroupsResponse, MetadataRequest, api_versions_response,
};
use tokio::io::{AsyncReadExt, DuplexStream, duplex};

use super::*;

/// The other end of a connection.
struct Peer(DuplexStream);

impl Peer {
    /// Reads a request and returns its correlation id.
    async fn request(&mut self) -> i32 {
        let length = self.0.read_u32().await.unwrap() as usize;
        let mut request = vec![0; length];
        self.0.read_exact(&mut request).await.unwrap();
        (&request[4..8]).get_i32()
    }

    async fn answer(&mut self, id: i32, body: &[u8]) {
        self.0.write_i32(body.len() as i32 + 4).await.unwrap();
        self.0.write_i32(id).await.unwrap();
        self.0.write_all(body).await.unwrap();
    }
}

fn call() -> Call {
    Call::new("testing", Duration::from_secs(60))
}

/// A connection to a peer that speaks these versions of DeleteGroups.
async fn connected(min: i16, max: i16) -> (Connection, Peer) {
    let (near, far) = duplex(1 << 16);
    let mut peer = Peer(far);
    let call = call();
    let greeting = async {
        let id = peer.request().await;
        let api = api_versions_response::ApiVersion::default()
            .with_api_key(DeleteGroupsRequest::KEY)
            .with_min_version(min)
            .with_max_version(max);
        let mut body = BytesMut::new();
        ApiVersionsResponse::default().with_api_keys(vec![api]).encode(&mut body, 0).unwrap();
        peer.answer(id, &body).await;
    };
    let (connection, ()) = tokio::join!(Connection::open(Box::new(near), "test", 1 << 20, &call), greeting);
    (connection.unwrap(), peer)
}

/// An answer to DeleteGroups, version 1, told apart by its throttle time.
fn body(throttle: i32) -> BytesMut {
    let mut body = BytesMut::new();
    DeleteGroupsResponse::default().with_throttle_time_ms(throttle).encode(&mut body, 1).unwrap();
    body
}

async fn delete(connection: &Connection) -> Result<i32, BrokerError> {
    let answer = connection.call(&call(), |_| DeleteGroupsRequest::default()).await?;
    Ok(answer.throttle_time_ms)
}

#[tokio::test]
async fn requests_are_pipelined_and_answers_told_apart() {
    let (connection, mut peer) = connected(0, 1).await;
    let serving = async {
        let (first, second) = (peer.request().await, peer.request().await);
        peer.answer(second, &body(second)).await;
        peer.answer(first, &body(first)).await;
        (first, second)
    };
    let (one, other, (first, second)) = tokio::join!(delete(&connection), delete(&connection), serving);
    assert_eq!((one.unwrap(), other.unwrap()), (first, second));
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_an_error_of_its_call_alone() {
    let (connection, mut peer) = connected(0, 1).await;
    let serving = async {
        let id = peer.request().await;
        peer.answer(id, &[0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]).await;
        let id = peer.request().await;
        peer.answer(id, &body(7)).await;
    };
    let calling = async { (delete(&connection).await, delete(&connection).await) };
    let ((garbled, sound), ()) = tokio::join!(calling, serving);
    assert!(matches!(garbled, Err(BrokerError::Malformed { .. })), "{garbled:?}");
    assert_eq!(sound, Ok(7));
}

#[tokio::test]
async fn an_answer_to_no_request_ends_the_connection() {
    let (connection, mut peer) = connected(0, 1).await;
    let serving = async {
        let id = peer.request().await;
        peer.answer(id + 100, &body(0)).await;
    };
    let (result, ()) = tokio::join!(delete(&connection), serving);
    assert!(result.unwrap_err().to_string().contains("answer to no request"));
    assert!(connection.is_closed());
    assert!(matches!(delete(&connection).await, Err(BrokerError::Connection { .. })));
}

#[tokio::test]
async fn a_peer_that_hangs_up_fails_what_is_under_way() {
    let (connection, mut peer) = connected(0, 1).await;
    let hanging_up = async {
        peer.request().await;
        drop(peer);
    };
    let (result, ()) = tokio::join!(delete(&connection), hanging_up);
    assert_eq!(result.unwrap_err().to_string(), "testing: connection failed: closed by the broker");
    assert!(connection.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_ends_and_closes_the_connection() {
    let (connection, mut peer) = connected(0, 1).await;
    let (result, _) = tokio::join!(delete(&connection), peer.request());
    assert_eq!(result.unwrap_err().to_string(), "testing: no answer within 1m");
    assert!(connection.is_closed(), "what else it may bring is out of step");
}

#[tokio::test]
async fn the_highest_version_of_both_is_used_and_its_lack_is_explained() {
    let (connection, mut peer) = connected(1, 40).await;
    let mut agreed = None;
    let serving = async {
        let id = peer.request().await;
        let mut flexible = BytesMut::new();
        flexible.extend_from_slice(&[0]);
        DeleteGroupsResponse::default().encode(&mut flexible, 2).unwrap();
        peer.answer(id, &flexible).await;
    };
    let call = call();
    let calling = connection.call(&call, |version| {
        agreed = Some(version);
        DeleteGroupsRequest::default()
    });
    let (answer, ()) = tokio::join!(calling, serving);
    assert_eq!((answer.map(|answer| answer.throttle_time_ms), agreed), (Ok(0), Some(2)));

    let (newer, _peer) = connected(3, 40).await;
    let error = delete(&newer).await.unwrap_err().to_string();
    assert!(error.contains("versions 3 to 40 of DeleteGroups, this client 0 to 2"), "{error}");
    let error = newer.call(&call, |_| MetadataRequest::default()).await.unwrap_err();
    assert!(matches!(error, BrokerError::Unsupported { .. }), "{error}");
}
