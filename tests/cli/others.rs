//! `topics` and `lag`.

use bezoar::broker::CommittedOffset;
use bezoar::record::{ProducerRecord, TopicPartition};

use crate::stage::Stage;

#[tokio::test]
async fn topics_tell_partitions_and_records() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    let rows = stage.json("topics $ORDERS*").await;
    let told: Vec<_> = rows
        .iter()
        .map(|row| {
            (row["topic"].as_str().unwrap(), row["records"].as_u64().unwrap(), row["dead_letters"].as_bool().unwrap())
        })
        .collect();
    assert_eq!(told, [(&*stage.orders, 0, false), (&*poison, 1, true), (&*validation, 4, true)]);
    assert!(rows.iter().all(|row| row["partitions"] == 1 && row["topic_id"].is_string()));
    let text = stage.run("topics --dead-letters $ORDERS*").await;
    let names: Vec<_> = text.ends(0).lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, [poison, validation]);
    stage.run("topics nothing-here*").await.fails(4, "no topic fits");
}

#[tokio::test]
async fn lag_tells_how_far_a_group_is_behind() {
    let stage = Stage::new().await;
    let topic = format!("{}-paid", stage.orders);
    stage.create(&topic, 2).await;
    for number in 0..5 {
        stage.produce(ProducerRecord::to(&*topic).partition(0).value(format!("{number}"))).await;
    }
    let group = format!("{}-group", stage.orders);
    let committed = CommittedOffset::new(TopicPartition::new(&*topic, 0), 2);
    stage.ports.offsets.commit(group.clone(), vec![committed]).await.unwrap();
    let ran = stage.run(&format!("lag {group} --topic {topic}")).await;
    let rows: Vec<Vec<&str>> = ran.ends(0).lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "CLIENT", "HOST"]);
    assert_eq!(rows[1..], [[&*topic, "0", "2", "5", "3", "-", "-"]]);
    assert!(ran.stderr.contains("3 records behind"), "{}", ran.stderr);
    let json = stage.json(&format!("lag {group}")).await;
    assert_eq!((&json[0]["lag"], &json[0]["committed"], &json[0]["end"]), (&3.into(), &2.into(), &5.into()));
    assert_eq!(json[0]["member"], serde_json::Value::Null);
    stage.run("lag nobody-at-all").await.fails(4, "there is no group \"nobody-at-all\"");
    stage.run(&format!("lag {group} --topic {}", stage.orders)).await.fails(4, "has committed no offset");
}
