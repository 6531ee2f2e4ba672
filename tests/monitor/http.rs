//! An HTTP server that keeps what is posted, and answers as it is told.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::support::within;

/// What was posted.
#[derive(Debug, Clone)]
pub(crate) struct Posted {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// How a post is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Status(u16),
    /// 429 with so many seconds to wait.
    Busy(u64),
    /// 302 to a path.
    Elsewhere(&'static str),
    /// A status, with so many seconds to wait, and a text that never ends.
    Endless(u16, u64),
    /// Not at all.
    Hang,
    /// The connection is closed.
    Close,
}

#[derive(Clone)]
pub(crate) struct Server {
    address: SocketAddr,
    secure: bool,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    posts: Vec<Posted>,
    script: VecDeque<Answer>,
    always: Option<Answer>,
}

/// A file of the certificates that tests have.
pub(crate) fn cert(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/security/certs").join(name)
}

impl Server {
    /// Answers by the script, then with 200.
    pub(crate) async fn start(script: impl IntoIterator<Item = Answer>) -> Self {
        Self::of(script, None).await
    }

    /// The same over TLS, with the certificate for localhost.
    pub(crate) async fn secure() -> Self {
        let file = cert("server.pem");
        let chain = CertificateDer::pem_file_iter(&file).unwrap().map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_file(&file).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls_rustcrypto::provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        Self::of([], Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn of(script: impl IntoIterator<Item = Answer>, acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Mutex::new(Shared { script: script.into_iter().collect(), ..Shared::default() }));
        let server = Self { address: listener.local_addr().unwrap(), secure: acceptor.is_some(), shared };
        let this = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (this, acceptor) = (this.clone(), acceptor.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => this.serve(stream).await,
                        Some(acceptor) => {
                            let Ok(stream) = acceptor.accept(stream).await else { return };
                            this.serve(stream).await;
                        }
                    }
                });
            }
        });
        server
    }

    pub(crate) fn always(&self, answer: Answer) {
        self.shared.lock().unwrap().always = Some(answer);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        match self.secure {
            true => format!("https://localhost:{}{path}", self.address.port()),
            false => format!("http://{}{path}", self.address),
        }
    }

    pub(crate) fn posts(&self) -> Vec<Posted> {
        self.shared.lock().unwrap().posts.clone()
    }

    /// Waits for so many posts.
    pub(crate) async fn until(&self, count: usize) -> Vec<Posted> {
        within(Duration::from_secs(60), &format!("{count} posts"), async || self.posts().len() >= count).await;
        self.posts()
    }

    async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Some(posted) = read(&mut stream).await else { return };
        let answer = {
            let mut shared = self.shared.lock().unwrap();
            shared.posts.push(posted);
            shared.script.pop_front().or(shared.always).unwrap_or(Answer::Status(200))
        };
        let (status, header) = match answer {
            Answer::Status(status) => (status, String::new()),
            Answer::Busy(seconds) => (429, format!("Retry-After: {seconds}\r\n")),
            Answer::Elsewhere(path) => (302, format!("Location: {path}\r\n")),
            Answer::Endless(status, seconds) => {
                let head =
                    format!("HTTP/1.1 {status} Whatever\r\nRetry-After: {seconds}\r\nContent-Length: 999\r\n\r\nx");
                let _ = stream.write_all(head.as_bytes()).await;
                return std::future::pending().await;
            }
            Answer::Hang => return std::future::pending().await,
            Answer::Close => return,
        };
        let text = format!("HTTP/1.1 {status} Whatever\r\n{header}Content-Length: 2\r\nConnection: close\r\n\r\nok");
        let _ = stream.write_all(text.as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Posted> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let mut lines = text.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    while bytes.len() < head + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[head..head + length]).expect("the body is JSON");
    Some(Posted { method, path, headers, body })
}
