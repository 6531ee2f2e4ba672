//! A line to the embedded broker on which requests are seen and answers changed.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use bezoar::broker::native::{self, Connector, Stream};
use bezoar::broker::{BoxFuture, ConnectionSettings, Source};
use bezoar::embedded::Broker;
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, FetchRequest, OffsetForLeaderEpochRequest, RequestHeader, ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Changes an answer to a fetch, after its length.
type Tamper = Box<dyn FnMut(&mut BytesMut) + Send>;

pub(crate) struct Spy {
    broker: Arc<Broker>,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    fetches: Vec<(i16, FetchRequest)>,
    validations: Vec<OffsetForLeaderEpochRequest>,
    /// Connections that fetches went over, and are still open.
    open: usize,
    most_fetch: i16,
    tamper: Option<Tamper>,
}

impl Spy {
    pub(crate) fn on(broker: &Arc<Broker>) -> Arc<Self> {
        let seen = Seen { fetches: Vec::new(), validations: Vec::new(), open: 0, most_fetch: i16::MAX, tamper: None };
        Arc::new(Self { broker: Arc::clone(broker), seen: Arc::new(Mutex::new(seen)) })
    }

    /// Lets the broker speak no later version of Fetch.
    pub(crate) fn most_fetch(self: Arc<Self>, version: i16) -> Arc<Self> {
        self.seen.lock().unwrap().most_fetch = version;
        self
    }

    /// Changes answers to fetches from now on.
    pub(crate) fn tamper(&self, tamper: impl FnMut(&mut BytesMut) + Send + 'static) {
        self.seen.lock().unwrap().tamper = Some(Box::new(tamper));
    }

    pub(crate) async fn source(self: &Arc<Self>, change: impl FnOnce(&mut ConnectionSettings)) -> Arc<dyn Source> {
        let mut settings = ConnectionSettings::new(["pipe:1"]);
        change(&mut settings);
        let connector = Arc::new(Line(Arc::clone(self)));
        native::connect_with(settings, connector).await.unwrap().ports().source
    }

    /// All fetches so far, with their versions.
    pub(crate) fn fetches(&self) -> Vec<(i16, FetchRequest)> {
        self.seen.lock().unwrap().fetches.clone()
    }

    pub(crate) fn validations(&self) -> usize {
        self.seen.lock().unwrap().validations.len()
    }

    /// How many connections that fetches went over are open.
    pub(crate) fn open(&self) -> usize {
        self.seen.lock().unwrap().open
    }
}

struct Line(Arc<Spy>);

impl Connector for Line {
    fn open(&self, _: String) -> BoxFuture<io::Result<Box<dyn Stream>>> {
        let (near, far) = tokio::io::duplex(1 << 20);
        let broker = self.0.broker.connect();
        tokio::spawn(carry(far, broker, Arc::clone(&self.0.seen)));
        Box::pin(async move { Ok(Box::new(near) as Box<dyn Stream>) })
    }
}

/// The API key and version of each request under way, by its correlation id.
type UnderWay = Arc<Mutex<HashMap<i32, (i16, i16)>>>;

async fn carry(client: impl Stream, broker: impl Stream, seen: Arc<Mutex<Seen>>) {
    let under_way = UnderWay::default();
    let (from_client, to_client) = tokio::io::split(client);
    let (from_broker, to_broker) = tokio::io::split(broker);
    let mut fetches = false;
    tokio::select! {
        _ = requests(from_client, to_broker, &seen, &under_way, &mut fetches) => {}
        _ = answers(from_broker, to_client, &seen, &under_way) => {}
    }
    if fetches {
        seen.lock().unwrap().open -= 1;
    }
}

async fn requests(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    seen: &Mutex<Seen>,
    under_way: &UnderWay,
    fetches: &mut bool,
) -> io::Result<()> {
    loop {
        let mut frame = frame(&mut from).await?.freeze();
        send(&mut to, &frame).await?;
        let (key, version) = (frame.clone().get_i16(), i16::from_be_bytes([frame[2], frame[3]]));
        let header_version = ApiKey::try_from(key).unwrap().request_header_version(version);
        let header = RequestHeader::decode(&mut frame, header_version).unwrap();
        under_way.lock().unwrap().insert(header.correlation_id, (key, version));
        let mut seen = seen.lock().unwrap();
        match ApiKey::try_from(key).unwrap() {
            ApiKey::Fetch => {
                seen.fetches.push((version, FetchRequest::decode(&mut frame, version).unwrap()));
                seen.open += usize::from(!std::mem::replace(fetches, true));
            }
            ApiKey::OffsetForLeaderEpoch => {
                seen.validations.push(OffsetForLeaderEpochRequest::decode(&mut frame, version).unwrap());
            }
            _ => {}
        }
    }
}

async fn answers(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    seen: &Mutex<Seen>,
    under_way: &UnderWay,
) -> io::Result<()> {
    loop {
        let mut frame = frame(&mut from).await?;
        let id = frame.clone().get_i32();
        // The broker may be quicker than the note of its request.
        let (key, version) = loop {
            if let Some(found) = under_way.lock().unwrap().remove(&id) {
                break found;
            }
            tokio::task::yield_now().await;
        };
        if key == ApiKey::ApiVersions as i16 {
            frame = with_limit(frame.freeze(), version, seen.lock().unwrap().most_fetch);
        } else if key == ApiKey::Fetch as i16
            && let Some(tamper) = &mut seen.lock().unwrap().tamper
        {
            tamper(&mut frame);
        }
        send(&mut to, &frame).await?;
    }
}

/// The answer to ApiVersions, with a limit for Fetch.
fn with_limit(mut frame: Bytes, version: i16, most: i16) -> BytesMut {
    let header = ResponseHeader::decode(&mut frame, ApiVersionsResponse::header_version(version)).unwrap();
    let mut answer = ApiVersionsResponse::decode(&mut frame, version).unwrap();
    for api in &mut answer.api_keys {
        if api.api_key == ApiKey::Fetch as i16 {
            api.max_version = api.max_version.min(most);
        }
    }
    let mut changed = BytesMut::new();
    header.encode(&mut changed, ApiVersionsResponse::header_version(version)).unwrap();
    answer.encode(&mut changed, version).unwrap();
    changed
}

async fn frame(from: &mut (impl AsyncRead + Unpin)) -> io::Result<BytesMut> {
    let length = from.read_u32().await?;
    let mut frame = BytesMut::zeroed(length as usize);
    from.read_exact(&mut frame).await?;
    Ok(frame)
}

async fn send(to: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> io::Result<()> {
    to.write_u32(frame.len() as u32).await?;
    to.write_all(frame).await?;
    to.flush().await
}
