//! Brokers that die and leaders that move while records are produced and read: nothing lost, nothing out of order, no
//! duplicate in the log of an idempotent producer.
//!
//! These tests start, kill and wipe real brokers of their own through `scripts/kafka` and `scripts/kafka-cluster`, on
//! ports from the one that `KAFKA_DISRUPT_PORT` names; without it they do nothing.

mod load;
mod script;

use std::time::Duration;

use bezoar::broker::Plane;

use crate::load::Load;
use crate::script::{Cluster, Single};

const PARTITIONS: i32 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_broker_that_comes_back_loses_and_doubles_nothing() {
    let Some(broker) = Single::start(0).await else { return };
    let load = Load::start(Plane::Native, broker.bootstrap(), PARTITIONS, 1).await;
    for _ in 0..3 {
        load.progress(2_000).await;
        broker.kill().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        broker.start_again().await;
    }
    load.progress(2_000).await;
    load.finish().await;
    broker.wipe().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_broker_that_comes_back_loses_nothing_through_rskafka() {
    if cfg!(not(feature = "rskafka")) {
        return;
    }
    let Some(broker) = Single::start(10).await else { return };
    let load = Load::start(Plane::Rskafka, broker.bootstrap(), PARTITIONS, 1).await;
    load.progress(2_000).await;
    broker.kill().await;
    broker.start_again().await;
    load.progress(2_000).await;
    load.finish().await;
    broker.wipe().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_that_move_lose_and_double_nothing() {
    let Some(cluster) = Cluster::start(20).await else { return };
    let load = Load::start(Plane::Native, cluster.bootstrap(), PARTITIONS, 3).await;
    load.progress(2_000).await;
    // Asked to, all brokers staying up.
    for (partition, leader) in [(0, 3), (1, 1), (2, 2), (0, 1)] {
        cluster.elect(load.topic(), partition, leader).await;
        load.progress(500).await;
    }
    // By a clean stop, and by a crash, of each broker in turn.
    for node in 1..=3 {
        if node == 2 {
            cluster.stop(node).await
        } else {
            cluster.kill(node).await
        }
        load.progress(1_000).await;
        cluster.start_again(node).await;
        load.progress(1_000).await;
    }
    load.finish().await;
    cluster.wipe().await;
}
