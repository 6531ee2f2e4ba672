use std::sync::{Arc, Mutex};

use bytes::{Buf, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, DeleteGroupsRequest, DeleteGroupsResponse, RequestHeader, ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{advance, timeout};

use super::*;
use crate::broker::ConnectionSettings;
use crate::broker::security::{Token, TokenError};

/// What a broker saw, in order: the names of mechanisms, `<message>` for those of SASL, `request` for all else.
type Log = Arc<Mutex<Vec<String>>>;

/// The broker's side of a connection: answers SASL as `authenticate` says and lets every other request pass.
struct Broker<F> {
    stream: DuplexStream,
    log: Log,
    authenticate: F,
}

impl<F: FnMut(&[u8]) -> SaslAuthenticateResponse> Broker<F> {
    async fn serve(mut self) {
        while let Ok(length) = self.stream.read_u32().await {
            let mut frame = vec![0; length as usize];
            self.stream.read_exact(&mut frame).await.unwrap();
            let mut frame = Bytes::from(frame);
            let (key, version) = ((&frame[..2]).get_i16(), (&frame[2..4]).get_i16());
            let answer = match key {
                ApiVersionsRequest::KEY => self.answer::<ApiVersionsRequest>(&mut frame, version, |_, _| versions()),
                SaslHandshakeRequest::KEY => {
                    self.answer::<SaslHandshakeRequest>(&mut frame, version, |broker, asked| {
                        broker.log.lock().unwrap().push(asked.mechanism.to_string());
                        let offered = ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"];
                        let known = offered.contains(&&*asked.mechanism);
                        SaslHandshakeResponse::default()
                            .with_error_code(if known { 0 } else { UNSUPPORTED_MECHANISM })
                            .with_mechanisms(offered.map(StrBytes::from_static_str).to_vec())
                    })
                }
                SaslAuthenticateRequest::KEY => {
                    self.answer::<SaslAuthenticateRequest>(&mut frame, version, |broker, asked| {
                        broker.log.lock().unwrap().push(String::from_utf8_lossy(&asked.auth_bytes).into_owned());
                        (broker.authenticate)(&asked.auth_bytes)
                    })
                }
                DeleteGroupsRequest::KEY => self.answer::<DeleteGroupsRequest>(&mut frame, version, |broker, _| {
                    broker.log.lock().unwrap().push("request".to_owned());
                    DeleteGroupsResponse::default()
                }),
                other => panic!("request {other}"),
            };
            // Whoever asked may be gone.
            let _ = self.stream.write_all(&answer).await;
        }
    }

    fn answer<R>(&mut self, frame: &mut Bytes, version: i16, make: impl FnOnce(&mut Self, R) -> R::Response) -> Bytes
    where
        R: Request + Decodable,
        R::Response: Encodable,
    {
        let header = RequestHeader::decode(frame, R::header_version(version)).unwrap();
        let response = make(self, R::decode(frame, version).unwrap());
        let mut bytes = BytesMut::zeroed(4);
        ResponseHeader::default()
            .with_correlation_id(header.correlation_id)
            .encode(&mut bytes, R::Response::header_version(version))
            .unwrap();
        response.encode(&mut bytes, version).unwrap();
        let length = bytes.len() as u32 - 4;
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        bytes.freeze()
    }
}

fn versions() -> ApiVersionsResponse {
    let api = |key, max| ApiVersion::default().with_api_key(key).with_max_version(max);
    ApiVersionsResponse::default().with_api_keys(vec![
        api(ApiVersionsRequest::KEY, 0),
        api(SaslHandshakeRequest::KEY, 1),
        api(SaslAuthenticateRequest::KEY, 2),
        api(DeleteGroupsRequest::KEY, 1),
    ])
}

fn accepted(lifetime_ms: i64) -> SaslAuthenticateResponse {
    SaslAuthenticateResponse::default().with_session_lifetime_ms(lifetime_ms)
}

fn failed(text: &'static str) -> SaslAuthenticateResponse {
    SaslAuthenticateResponse::default()
        .with_error_code(AUTHENTICATION_FAILED)
        .with_error_message(Some(StrBytes::from_static_str(text)))
}

fn call() -> Call {
    Call::new("testing", Duration::from_secs(60))
}

/// A connection that authenticated, or why it could not; and what the broker saw.
async fn connect(
    sasl: &Sasl,
    authenticate: impl FnMut(&[u8]) -> SaslAuthenticateResponse + Send + 'static,
) -> (Result<Connection, BrokerError>, Log) {
    let (near, stream) = duplex(1 << 16);
    let log = Log::default();
    tokio::spawn(Broker { stream, log: Arc::clone(&log), authenticate }.serve());
    let settings = ConnectionSettings::new(["pipe:1"]);
    let mut connection = Connection::open(Box::new(near), &settings, &call()).await.unwrap();
    let result = connection.authenticate(sasl, &call()).await;
    (result.map(|()| connection), log)
}

async fn request(connection: &Connection) -> Result<(), BrokerError> {
    connection.call(&call(), |_| DeleteGroupsRequest::default()).await.map(drop)
}

fn seen(log: &Log) -> Vec<String> {
    log.lock().unwrap().clone()
}

fn refusal(result: Result<Connection, BrokerError>) -> String {
    match result.err().unwrap() {
        error @ BrokerError::Authentication { .. } => error.to_string(),
        error => panic!("another error: {error}"),
    }
}

fn bearer() -> Sasl {
    Sasl::oauth_bearer(|| async { Ok::<_, TokenError>(Token::new("t").valid_for(Duration::from_secs(3600))) })
}

#[tokio::test]
async fn requests_follow_authentication() {
    let (connection, log) = connect(&Sasl::plain("alice", "pw"), |_| accepted(0)).await;
    request(&connection.unwrap()).await.unwrap();
    assert_eq!(seen(&log), ["PLAIN", "\0alice\0pw", "request"]);
}

#[tokio::test]
async fn a_mechanism_that_is_not_offered_is_told_with_those_that_are() {
    let (connection, _) = connect(&Sasl::scram_sha_512("alice", "pw"), |_| accepted(0)).await;
    let error = refusal(connection);
    assert!(error.contains("does not offer SCRAM-SHA-512") && error.contains("PLAIN, SCRAM-SHA-256"), "{error}");
}

#[tokio::test]
async fn a_refusal_says_who_and_what_the_broker_said() {
    let (connection, _) = connect(&Sasl::plain("alice", "hunter2"), |_| failed("no such user")).await;
    let error = refusal(connection);
    assert!(error.contains(r#"as "alice" by PLAIN"#) && error.contains("no such user"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_broker_that_does_not_know_the_password_is_not_spoken_to() {
    let mut messages = 0;
    let imposter = move |asked: &[u8]| {
        messages += 1;
        let asked = String::from_utf8(asked.to_vec()).unwrap();
        let answer = match messages {
            1 => format!("r={}xyz,s=c2FsdA==,i=4096", asked.split_once(",r=").unwrap().1),
            _ => "v=AAAA".to_owned(),
        };
        accepted(0).with_auth_bytes(answer.into())
    };
    let (connection, log) = connect(&Sasl::scram_sha_256("alice", "pw"), imposter).await;
    assert!(refusal(connection).contains("could not prove"));
    assert_eq!(seen(&log).len(), 3);
}

#[tokio::test]
async fn a_refused_token_is_not_used_again() {
    let calls = Arc::new(Mutex::new(0));
    let sasl = {
        let calls = Arc::clone(&calls);
        Sasl::oauth_bearer(move || {
            *calls.lock().unwrap() += 1;
            async { Ok::<_, TokenError>(Token::new("t").valid_for(Duration::from_secs(3600))) }
        })
    };
    // First an error as data, which is to be acknowledged; then the end.
    let refusing = |asked: &[u8]| match asked {
        [1] => failed("invalid_token"),
        _ => accepted(0).with_auth_bytes(Bytes::from_static(b"{\"status\":\"invalid_token\"}")),
    };
    let (connection, log) = connect(&sasl, refusing).await;
    assert!(refusal(connection).contains("the token is not accepted"));
    assert_eq!(seen(&log), ["OAUTHBEARER", "n,,\x01auth=Bearer t\x01\x01", "\x01"]);
    assert!(connect(&sasl, |_| accepted(0)).await.0.is_ok());
    assert!(connect(&sasl, |_| accepted(0)).await.0.is_ok());
    assert_eq!(*calls.lock().unwrap(), 2);
}

#[tokio::test]
async fn a_broker_that_never_ends_authentication_is_given_up() {
    let more = |_: &[u8]| accepted(0).with_auth_bytes(Bytes::from_static(b"{}"));
    assert!(refusal(connect(&bearer(), more).await.0).contains("does not come to an end"));
}

#[tokio::test(start_paused = true)]
async fn a_session_is_renewed_once_before_it_ends_and_requests_wait_for_it() {
    let (connection, log) = connect(&Sasl::plain("alice", "pw"), |_| accepted(10_000)).await;
    let connection = connection.unwrap();
    advance(Duration::from_millis(7_900)).await;
    request(&connection).await.unwrap();
    advance(Duration::from_millis(1_200)).await;
    let (one, other) = tokio::join!(request(&connection), request(&connection));
    one.unwrap();
    other.unwrap();
    let renewal = ["PLAIN", "\0alice\0pw", "request"];
    assert_eq!(seen(&log), [&renewal[..], &renewal[..], &["request"]].concat());
    // Even one that has long ended.
    advance(Duration::from_secs(60)).await;
    request(&connection).await.unwrap();
    assert_eq!(seen(&log)[7..], renewal);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_renewed_ends_the_connection() {
    let mut calls = 0;
    let once = move |_: &[u8]| {
        calls += 1;
        if calls == 1 { accepted(10_000) } else { failed("password changed") }
    };
    let (connection, _) = connect(&Sasl::plain("alice", "pw"), once).await;
    let connection = connection.unwrap();
    advance(Duration::from_secs(10)).await;
    let error = request(&connection).await.unwrap_err();
    assert!(matches!(error, BrokerError::Authentication { .. }), "{error}");
    assert!(connection.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_whose_caller_goes_away_ends_the_connection() {
    let (near, mut far) = duplex(1 << 16);
    let log = Log::default();
    let broker = async {
        // Goes silent after the first authentication.
        let (relay, stream) = duplex(1 << 16);
        tokio::spawn(Broker { stream, log: Arc::clone(&log), authenticate: |_: &[u8]| accepted(10_000) }.serve());
        let (mut from, mut to) = tokio::io::split(relay);
        for _ in 0..3 {
            let length = far.read_u32().await.unwrap();
            let mut frame = vec![0; length as usize];
            far.read_exact(&mut frame).await.unwrap();
            to.write_u32(length).await.unwrap();
            to.write_all(&frame).await.unwrap();
            let length = from.read_u32().await.unwrap();
            let mut frame = vec![0; length as usize];
            from.read_exact(&mut frame).await.unwrap();
            far.write_u32(length).await.unwrap();
            far.write_all(&frame).await.unwrap();
        }
    };
    let settings = ConnectionSettings::new(["pipe:1"]);
    let (opening, sasl) = (call(), Sasl::plain("alice", "pw"));
    let client = async {
        let mut connection = Connection::open(Box::new(near), &settings, &opening).await.unwrap();
        connection.authenticate(&sasl, &opening).await.unwrap();
        connection
    };
    let (connection, ()) = tokio::join!(client, broker);
    advance(Duration::from_secs(10)).await;
    assert!(timeout(Duration::from_secs(1), request(&connection)).await.is_err());
    assert!(connection.is_closed());
}
