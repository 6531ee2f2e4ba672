//! Groups with members, which Kafka's own consumer makes: only where a real broker and its jars (`KAFKA_LIBS`) are there.

use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::fixture::{Fixture, eventually, partition, unique};

/// Kafka's console consumer in a group; it ends when this is dropped.
fn consumer(fixture: &Fixture, topic: &str, group: &str, protocol: &str) -> Option<Child> {
    let libs = std::env::var("KAFKA_LIBS").ok().filter(|_| fixture.embedded.is_none())?;
    let command = Command::new("java")
        .args(["-Xmx128m", "-cp", &format!("{libs}/*"), "org.apache.kafka.tools.consumer.ConsoleConsumer"])
        .args(["--bootstrap-server", &fixture.address, "--topic", topic, "--group", group])
        .args(["--consumer-property", &format!("group.protocol={protocol}")])
        .args(["--consumer-property", "client.id=console"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    Some(command.unwrap())
}

pub(crate) async fn members_and_their_partitions_are_told_of_either_protocol(fixture: &Fixture) {
    let (topic, admin) = (fixture.topic(2).await, &fixture.ports.admin);
    for protocol in ["classic", "consumer"] {
        let group = unique("group");
        let Some(_consumer) = consumer(fixture, &topic, &group, protocol) else {
            println!("skipped: it takes KAFKA_BOOTSTRAP and KAFKA_LIBS");
            return;
        };
        eventually("both partitions are assigned", || async {
            let described = admin.describe_group(group.clone()).await;
            described.is_ok_and(|described| described.members.iter().any(|member| member.assignment.len() == 2))
        })
        .await;
        let described = admin.describe_group(group.clone()).await.unwrap();
        assert_eq!((described.state.as_str(), described.members.len()), ("Stable", 1));
        assert_eq!(described.is_modern, protocol == "consumer");
        assert_eq!(described.epoch.is_some(), described.is_modern);
        assert!(!described.assignor.is_empty());
        let member = &described.members[0];
        let mut assigned = member.assignment.clone();
        assigned.sort_by_key(|assigned| assigned.partition());
        assert_eq!(assigned, [partition(&topic, 0), partition(&topic, 1)]);
        assert!(member.client_id.contains("console"), "{member:?}");
        assert!(!member.id.is_empty() && !member.host.is_empty(), "{member:?}");
        let listed = admin.list_groups().await.unwrap();
        let listed = listed.iter().find(|listed| listed.group == group).unwrap();
        assert_eq!(listed.protocol_type, "consumer");
        assert!(listed.kind.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case(protocol)), "{listed:?}");
    }
}
