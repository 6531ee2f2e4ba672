use bytes::Buf;
use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, DeleteGroupsRequest, DeleteGroupsResponse, GroupId, MetadataRequest,
    api_versions_response,
};
use kafka_protocol::protocol::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

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
        let newest = <ApiVersionsRequest as Api>::SPOKEN.max;
        ApiVersionsResponse::default().with_api_keys(vec![api]).encode(&mut body, newest).unwrap();
        peer.answer(id, &body).await;
    };
    let mut settings = ConnectionSettings::new(["pipe:1"]);
    settings.max_request_bytes = 1_000;
    let (connection, ()) = tokio::join!(Connection::open(Box::new(near), &settings, &call), greeting);
    (connection.unwrap(), peer)
}

/// An answer to DeleteGroups, version 1, told apart by its code.
fn body(code: i32) -> BytesMut {
    throttled(code, 0)
}

fn throttled(code: i32, throttle: i32) -> BytesMut {
    let mut body = BytesMut::new();
    let result = DeletableGroupResult::default().with_error_code(code as i16);
    let answer = DeleteGroupsResponse::default().with_results(vec![result]).with_throttle_time_ms(throttle);
    answer.encode(&mut body, 1).unwrap();
    body
}

async fn delete(connection: &Connection) -> Result<i32, BrokerError> {
    delete_within(connection, Duration::from_secs(60)).await
}

async fn delete_within(connection: &Connection, within: Duration) -> Result<i32, BrokerError> {
    let call = Call::new("testing", within);
    let answer = connection.call(&call, |_| DeleteGroupsRequest::default()).await?;
    Ok(answer.results[0].error_code.into())
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
    assert!(error.to_string().contains("does not offer Metadata"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_before_the_brokers_throttling_has_passed() {
    let (connection, mut peer) = connected(0, 1).await;
    let begun = Instant::now();
    let serving = async {
        let id = peer.request().await;
        peer.answer(id, &throttled(1, 20_000)).await;
        let id = peer.request().await;
        let arrived = begun.elapsed();
        peer.answer(id, &body(2)).await;
        arrived
    };
    let calling = async { (delete(&connection).await, delete(&connection).await) };
    let (codes, arrived) = tokio::join!(calling, serving);
    assert_eq!(codes, (Ok(1), Ok(2)));
    assert_eq!(arrived.as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn throttling_has_a_bound_and_a_call_that_it_keeps_back_ends_without_ending_the_connection() {
    let (connection, mut peer) = connected(0, 1).await;
    let begun = Instant::now();
    let serving = async {
        let id = peer.request().await;
        peer.answer(id, &throttled(1, i32::MAX)).await;
        // The next one that arrives is the third: the second was taken back before it was sent.
        let id = peer.request().await;
        let arrived = begun.elapsed();
        peer.answer(id, &body(3)).await;
        arrived
    };
    let calling = async {
        assert_eq!(delete(&connection).await, Ok(1));
        let kept_back = delete_within(&connection, Duration::from_secs(5)).await;
        assert!(matches!(kept_back, Err(BrokerError::Timeout { .. })), "{kept_back:?}");
        assert!(!connection.is_closed());
        delete_within(&connection, Duration::from_secs(90)).await
    };
    let (third, arrived) = tokio::join!(calling, serving);
    assert_eq!(third, Ok(3));
    assert_eq!(arrived.as_secs(), 60);
}

#[tokio::test]
async fn a_request_above_the_limit_is_not_sent() {
    let (connection, mut peer) = connected(0, 1).await;
    let names = vec![GroupId(StrBytes::from_string("x".repeat(2_000)))];
    let call = call();
    let error = connection.call(&call, |_| DeleteGroupsRequest::default().with_groups_names(names)).await.unwrap_err();
    assert!(matches!(error, BrokerError::RequestTooLarge { limit: 1_000, .. }), "{error}");
    assert!(!error.is_retriable());
    let serving = async {
        let id = peer.request().await;
        peer.answer(id, &body(4)).await;
    };
    assert_eq!(tokio::join!(delete(&connection), serving).0, Ok(4), "the connection goes on");
}

#[tokio::test]
async fn a_request_whose_caller_is_gone_is_not_sent() {
    let (connection, mut peer) = connected(0, 1).await;
    {
        let mut dropped = std::pin::pin!(delete(&connection));
        assert!(futures_util::poll!(&mut dropped).is_pending());
    }
    let serving = async {
        let id = peer.request().await;
        peer.answer(id, &body(5)).await;
        id
    };
    let (code, id) = tokio::join!(delete(&connection), serving);
    assert_eq!((code, id), (Ok(5), 2), "0 asked for the versions, 1 was dropped");
}
