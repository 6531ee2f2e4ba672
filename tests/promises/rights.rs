//! Promise 7: what the broker says of rights is heeded at start, where it can still be mended.

use std::sync::Arc;

use bezoar::broker::Operations;
use bezoar::{Consumer, ConsumerError, Utf8};

use crate::held::picky;
use crate::memory::Memory;
use crate::support::{Cluster, Journal};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_that_may_not_be_read_or_written_end_the_start() {
    const READ: Operations = Operations(1 << 3);
    const WRITE: Operations = Operations(1 << 4);
    let start = async |operations: &[(&str, Operations)]| {
        let memory = Arc::new(Memory::default());
        let listed = operations.iter().map(|(topic, operations)| ((*topic).to_owned(), *operations));
        *memory.operations.lock().unwrap() = listed.collect();
        Consumer::builder("rights")
            .ports(memory.ports())
            .assignment(bezoar::consumer::Assignment::Manual)
            .topic("orders", Utf8, picky(&Journal::default()))
            .start()
            .await
    };
    let refused = start(&[("orders", WRITE)]).await.unwrap_err();
    assert!(matches!(&refused, ConsumerError::MayNotRead { topic } if topic == "orders"), "{refused}");
    let refused = start(&[("orders", READ), ("orders.dlq.poison", READ)]).await.unwrap_err();
    assert!(refused.to_string().contains("\"orders.dlq.poison\" may not be written to"), "{refused}");
    start(&[("orders", READ), ("orders.dlq.poison", WRITE)]).await.unwrap().shutdown().await.unwrap();
}

/// Without an authorizer, or with all rights, the broker says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_broker_tells_what_may_be_done_with_a_topic() {
    let cluster = Cluster::start().await;
    let topic = cluster.topic("rights", 1).await;
    let found = cluster.ports.admin.topics(vec![topic]).await.unwrap().pop().flatten().unwrap();
    let operations = found.operations.unwrap();
    assert!(operations.may_read() && operations.may_write());
}
