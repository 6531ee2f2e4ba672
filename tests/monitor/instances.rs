//! Several instances of a group have the same dead-letter topics.

use std::time::Duration;

use bezoar::Utf8;
use bezoar::monitor::AlertKind;

use crate::support::{Cluster, Heard, eventually, obey, quick};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_one_with_partition_0_speaks_of_the_depth_and_another_after_it() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("instances", 2).await, cluster.name("instances"));
    let (mut consumers, heard) = (Vec::new(), [Heard::default(), Heard::default()]);
    for one in &heard {
        let builder = cluster.consumer(&group).monitor(quick().thresholds(2, 50).sink(one.clone()));
        consumers.push(Some(builder.topic(&topic, Utf8, obey()).start().await.unwrap()));
    }
    let partitions = async |index: usize| consumers[index].as_ref().unwrap().partitions().await;
    eventually("each has a partition", async || partitions(0).await.len() == 1 && partitions(1).await.len() == 1).await;
    let speaks = usize::from(partitions(0).await[0].partition.partition() != 0);
    // The other one writes the letters.
    cluster.append(&topic, 1, "poison", 3).await;
    let dead_letters = format!("{topic}.dlq.poison");
    heard[speaks].until(AlertKind::Depth, &dead_letters, 1).await;
    // Who wrote them tells of them.
    heard[1 - speaks].until(AlertKind::Letters, &dead_letters, 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(heard[1 - speaks].of(AlertKind::Depth, &dead_letters).len(), 0, "ten looks later");
    assert_eq!(heard[speaks].of(AlertKind::Letters, &dead_letters).len(), 0);
    consumers[speaks].take().unwrap().shutdown().await.unwrap();
    heard[1 - speaks].until(AlertKind::Depth, &dead_letters, 1).await;
    assert_eq!(heard[speaks].of(AlertKind::Depth, &dead_letters).len(), 1, "{:#?}", heard[speaks].all());
    consumers[1 - speaks].take().unwrap().shutdown().await.unwrap();
}
