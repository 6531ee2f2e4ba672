use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde_json::json;
use tokio::sync::Mutex;

use super::health::{self, Health};
use super::prometheus::Prometheus;
use crate::ConsumerHandle;

/// What [`serve`](super::serve) answers from. Cheap to clone.
#[derive(Clone, Default)]
pub struct Endpoint {
    consumers: Vec<ConsumerHandle>,
    metrics: Option<Render>,
    pub(super) prometheus: Option<Prometheus>,
    /// Held while metrics are rendered: clients in a hurry wait for each other, and take one thread's time at most.
    rendering: Arc<Mutex<()>>,
}

type Render = Arc<dyn Fn() -> String + Send + Sync>;
pub(super) type Answer = Response<Full<Bytes>>;

/// Prometheus's text format.
const METRICS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Endpoint {
    /// One without consumers and metrics.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a consumer to the health checks; there may be several. One that has ended makes the process unready.
    pub fn consumer(mut self, consumer: ConsumerHandle) -> Self {
        self.consumers.push(consumer);
        self
    }

    /// Serves what this recorder holds under `/metrics`.
    pub fn prometheus(mut self, prometheus: Prometheus) -> Self {
        self.metrics = Some(Arc::new({
            let prometheus = prometheus.clone();
            move || prometheus.render()
        }));
        self.prometheus = Some(prometheus);
        self
    }

    /// Serves what this function returns under `/metrics`, for a recorder of one's own; in Prometheus's text format.
    pub fn metrics(mut self, render: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.metrics = Some(Arc::new(render));
        self
    }

    pub(super) async fn answer(&self, method: &Method, path: &str) -> Answer {
        let found = match path {
            "/metrics" if self.metrics.is_some() => true,
            "/health" | "/health/live" | "/health/ready" => true,
            _ => false,
        };
        if !found {
            let paths = match self.metrics {
                Some(_) => json!(["/metrics", "/health", "/health/live", "/health/ready"]),
                None => json!(["/health", "/health/live", "/health/ready"]),
            };
            return json_answer(StatusCode::NOT_FOUND, &json!({ "error": "no such path", "paths": paths }));
        }
        if method != Method::GET && method != Method::HEAD {
            let mut answer = json_answer(StatusCode::METHOD_NOT_ALLOWED, &json!({ "error": "only GET is allowed" }));
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        match path {
            "/metrics" => self.render().await,
            "/health/live" => json_answer(StatusCode::OK, &json!({ "live": true })),
            "/health/ready" => {
                let consumers = self.health().await;
                let ready = consumers.iter().all(Health::is_ready);
                let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                let consumers: Vec<_> = consumers.iter().map(Health::readiness).collect();
                json_answer(status, &json!({ "ready": ready, "consumers": consumers }))
            }
            _ => {
                let consumers = self.health().await;
                let ready = consumers.iter().all(Health::is_ready);
                let consumers: Vec<_> = consumers.iter().map(Health::details).collect();
                json_answer(StatusCode::OK, &json!({ "ready": ready, "consumers": consumers }))
            }
        }
    }

    async fn health(&self) -> Vec<Health> {
        futures_util::future::join_all(self.consumers.iter().map(health::of)).await
    }

    async fn render(&self) -> Answer {
        let _turn = self.rendering.lock().await;
        let text = self.metrics.as_ref().map(|render| render()).unwrap_or_default();
        answer(StatusCode::OK, METRICS, text)
    }
}

fn json_answer(status: StatusCode, body: &serde_json::Value) -> Answer {
    answer(status, JSON, format!("{body}\n"))
}

fn answer(status: StatusCode, content_type: HeaderValue, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("consumers", &self.consumers.len()).finish_non_exhaustive()
    }
}
