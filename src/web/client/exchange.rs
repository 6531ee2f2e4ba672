use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::address::Address;
use super::answer::{Problem, retry_after};
use super::secure::Secure;
use crate::broker::security::Tls;
use crate::policy::ConfigError;

/// The most bytes of an answer that are read.
const ANSWER: usize = 64 << 10;
/// The longest that a post may take, whatever the settings say.
const LONGEST: Duration = Duration::from_secs(3_600);
/// How long its text may take.
const TEXT: Duration = Duration::from_secs(2);

/// Posts. It keeps nothing between two posts but what it trusts.
pub(crate) struct Client {
    secure: Secure,
    timeout: Duration,
}

/// What to post.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) address: Address,
    /// Headers besides those that every post has.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// JSON.
    pub(crate) body: Bytes,
}

/// A connection.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

impl Client {
    /// `timeout` is for a whole post: connecting, sending, the answer.
    pub(crate) fn new(tls: Tls, timeout: Duration) -> Self {
        Self { secure: Secure::new(tls), timeout }
    }

    /// Checks what encryption needs. Errors name settings as `security.tls.…`.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.secure.check()
    }

    /// Posts, and waits for the answer.
    pub(crate) async fn post(&self, post: Post) -> Result<(), Problem> {
        let deadline = Instant::now() + self.timeout.min(LONGEST);
        match timeout_at(deadline, self.exchange(post, deadline)).await {
            Ok(result) => result,
            Err(_) => Err(Problem::Unanswered(format!("no answer within {:?}", self.timeout))),
        }
    }

    async fn exchange(&self, post: Post, deadline: Instant) -> Result<(), Problem> {
        let address = &post.address;
        let connected = TcpStream::connect((address.name(), address.port)).await;
        let stream = connected.map_err(|error| {
            Problem::Unanswered(format!("cannot connect to {} port {}: {error}", address.host, address.port))
        })?;
        let stream: Box<dyn Stream> = match address.secure {
            true => Box::new(self.secure.encrypt(stream, address.name()).await?),
            false => Box::new(stream),
        };
        let broken = |error: hyper::Error| Problem::Unanswered(format!("the connection failed: {error}"));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let request = request(post).map_err(|error| Problem::Unanswered(format!("no request can be made: {error}")))?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(broken)?;
            judge(response, deadline).await
        };
        // Polled side by side: the connection does not outlive this.
        let mut exchange = std::pin::pin!(exchange);
        tokio::select! {
            biased;
            result = &mut exchange => result,
            ended = connection => match ended {
                // What it has read is there.
                Ok(()) => exchange.await,
                Err(error) => Err(broken(error)),
            },
        }
    }
}

fn request(post: Post) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let mut request = Request::post(post.address.path.as_str())
        .header(HOST, post.address.authority())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, concat!("bezoar/", env!("CARGO_PKG_VERSION")))
        .header(CONNECTION, "close")
        .body(Full::new(post.body))?;
    request.headers_mut().extend(post.headers);
    Ok(request)
}

/// What an answer means.
async fn judge(response: Response<Incoming>, deadline: Instant) -> Result<(), Problem> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let after = after.and_then(|value| retry_after(value, SystemTime::now()));
    // Its text is of use, not needed: one that does not end changes nothing about what the status says.
    let said = timeout_at(deadline.min(Instant::now() + TEXT), beginning(response.into_body())).await;
    let said = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
    Err(Problem::Refused { status: status.as_u16(), after, said })
}

/// The beginning of a text.
async fn beginning(mut body: Incoming) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < ANSWER
        && let Some(Ok(frame)) = body.frame().await
    {
        text.extend(frame.into_data().unwrap_or_default());
    }
    text
}
