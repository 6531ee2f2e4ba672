//! Our own connections over pipes in memory, in paused time.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bezoar::broker::native::{self, Connector, Stream};
use bezoar::broker::{Admin, BoxFuture, BrokerError, ConnectionSettings, NewTopic, OffsetSpec};
use bezoar::embedded::{Api, Broker, Fault};

use crate::fixture::partition;

struct Pipes(Arc<Broker>);

impl Connector for Pipes {
    fn open(&self, _: String) -> BoxFuture<io::Result<Box<dyn Stream>>> {
        let stream = self.0.connect();
        Box::pin(async move { Ok(Box::new(stream) as Box<dyn Stream>) })
    }
}

#[tokio::test(start_paused = true)]
async fn calls_go_over_any_stream_and_deadlines_follow_the_clock() {
    let broker = Arc::new(Broker::start().await.unwrap());
    let connector = Arc::new(Pipes(Arc::clone(&broker)));
    let native = native::connect_with(ConnectionSettings::new(["pipe:1"]), connector).await.unwrap();
    native.create_topic(NewTopic::new("orders", 2)).await.unwrap();
    assert_eq!(native.offset(partition("orders", 1), OffsetSpec::Latest).await.unwrap(), 0);

    broker.inject(Fault::on(Api::Metadata).delay(Duration::from_secs(3_600)));
    let started = tokio::time::Instant::now();
    let error = native.topics(vec!["orders".to_owned()]).await.unwrap_err();
    assert!(matches!(error, BrokerError::Timeout { .. }), "{error}");
    assert_eq!(started.elapsed().as_secs(), 30);
    assert!(native.topics(vec!["orders".to_owned()]).await.unwrap()[0].is_some());
}
