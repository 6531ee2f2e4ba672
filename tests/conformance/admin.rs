//! Topics, their configuration and the offsets of their logs.

use std::net::TcpListener;
use std::time::Duration;

use bezoar::broker::{
    BrokerError, CommittedOffset, ConfigChange, ConnectionSettings, ErrorCode, NewTopic, OffsetSpec, native,
};
use bezoar::record::ProducerRecord;

use crate::fixture::{Fixture, PATIENCE, eventually, partition, records, settings, unique};

pub(crate) async fn topics_are_created_described_and_deleted(fixture: &Fixture) {
    let (first, second) = (fixture.topic(3).await, fixture.topic(1).await);
    let admin = &fixture.ports.admin;
    let found = admin.topics(vec![second.clone(), unique("missing"), first.clone()]).await.unwrap();
    assert_eq!(found[0].as_ref().map(|topic| (&topic.name, topic.partitions)), Some((&second, 1)));
    assert_eq!(found[1], None);
    assert_eq!(found[2].as_ref().map(|topic| (&topic.name, topic.partitions)), Some((&first, 3)));
    assert_ne!(found[0].as_ref().unwrap().id, found[2].as_ref().unwrap().id);
    assert!(found[0].as_ref().unwrap().id.is_some());

    admin.delete_topics(vec![first.clone()]).await.unwrap();
    eventually("the topic is gone", || async { admin.topics(vec![first.clone()]).await.unwrap() == [None] }).await;
    assert!(admin.topics(vec![second]).await.unwrap()[0].is_some());
}

pub(crate) async fn creating_a_topic_twice_is_an_error_with_its_code(fixture: &Fixture) {
    let name = fixture.topic(1).await;
    let error = fixture.ports.admin.create_topic(NewTopic::new(&name, 1)).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TOPIC_ALREADY_EXISTS));
    assert!(error.to_string().contains(&name), "{error}");
}

pub(crate) async fn wrong_configuration_is_an_error_with_the_brokers_text(fixture: &Fixture) {
    let topic = NewTopic::new(unique("topic"), 1).config("cleanup.policy", "sometimes");
    let error = fixture.ports.admin.create_topic(topic).await.unwrap_err();
    let BrokerError::Response { code, message, .. } = error else { panic!("{error}") };
    assert_eq!(code, ErrorCode(40), "INVALID_CONFIG");
    assert!(message.is_some_and(|text| text.contains("sometimes")));
}

pub(crate) async fn unknown_topics_are_none_and_are_not_created(fixture: &Fixture) {
    let name = unique("missing");
    for _ in 0..3 {
        assert_eq!(fixture.ports.admin.topics(vec![name.clone()]).await.unwrap(), [None]);
    }
    let error = fixture.ports.admin.offset(partition(&name, 0), OffsetSpec::Latest).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    assert_eq!(fixture.ports.admin.topics(vec![name]).await.unwrap(), [None]);
}

pub(crate) async fn deleting_an_unknown_topic_is_an_error_with_its_code(fixture: &Fixture) {
    let error = fixture.ports.admin.delete_topics(vec![unique("missing")]).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}

pub(crate) async fn configuration_entries_are_read(fixture: &Fixture) {
    let name = unique("topic");
    let topic = NewTopic::new(&name, 1).config("cleanup.policy", "compact").config("max.message.bytes", "12345");
    let admin = &fixture.ports.admin;
    admin.create_topic(topic).await.unwrap();
    let read = async |entry: &str| admin.topic_config(name.clone(), entry.to_owned()).await.unwrap();
    assert_eq!(read("cleanup.policy").await.as_deref(), Some("compact"));
    assert_eq!(read("max.message.bytes").await.as_deref(), Some("12345"));
    assert!(read("retention.ms").await.is_some(), "defaults are told as well");
    assert_eq!(read("no.such.entry").await, None);
    let error = admin.topic_config(unique("missing"), "cleanup.policy".to_owned()).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}

pub(crate) async fn offsets_by_place_and_time(fixture: &Fixture) {
    let topic = fixture.topic(2).await;
    let admin = &fixture.ports.admin;
    for (millis, value) in [(1_000, "a"), (2_000, "b"), (3_000, "c")] {
        let record = ProducerRecord::to("").value(value).timestamp(millis);
        fixture.produce(&partition(&topic, 1), vec![record]).await;
    }
    let offset = async |spec| admin.offset(partition(&topic, 1), spec).await.unwrap();
    assert_eq!(offset(OffsetSpec::Earliest).await, 0);
    assert_eq!(offset(OffsetSpec::Latest).await, 3);
    assert_eq!(offset(OffsetSpec::Timestamp(0)).await, 0);
    assert_eq!(offset(OffsetSpec::Timestamp(1_500)).await, 1);
    assert_eq!(offset(OffsetSpec::Timestamp(3_000)).await, 2);
    assert_eq!(offset(OffsetSpec::Timestamp(3_001)).await, 3, "the end, where no record is that late");
    assert_eq!(admin.offset(partition(&topic, 0), OffsetSpec::Latest).await.unwrap(), 0);
    let error = admin.offset(partition(&topic, 2), OffsetSpec::Latest).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}

pub(crate) async fn offsets_of_many_partitions_at_once(fixture: &Fixture) {
    let topics = [fixture.topic(3).await, fixture.topic(1).await];
    for (topic, number, count) in [(0, 0, 1), (0, 2, 3), (1, 0, 2)] {
        fixture.produce(&partition(&topics[topic], number), records(0..count)).await;
    }
    let (first, second) = (|number| partition(&topics[0], number), partition(&topics[1], 0));
    let admin = &fixture.ports.admin;
    let asked = vec![
        (second.clone(), OffsetSpec::Latest),
        (first(2), OffsetSpec::Latest),
        (first(2), OffsetSpec::Earliest),
        (first(1), OffsetSpec::Latest),
        (first(0), OffsetSpec::Timestamp(i64::MAX)),
        (first(2), OffsetSpec::Latest),
    ];
    assert_eq!(admin.offsets(asked).await.unwrap(), [2, 3, 0, 0, 1, 3]);
    assert!(admin.offsets(Vec::new()).await.unwrap().is_empty());
    let error = admin.offsets(vec![(second, OffsetSpec::Latest), (first(3), OffsetSpec::Latest)]).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    assert!(error.to_string().contains(&first(3).to_string()), "{error}");
}

pub(crate) async fn the_latest_timestamp_may_stand_before_the_end(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let admin = &fixture.ports.admin;
    assert_eq!(admin.offset(partition(&topic, 0), OffsetSpec::MaxTimestamp).await.unwrap(), 0, "the end of nothing");
    for millis in [1_000, 3_000, 2_000] {
        let record = ProducerRecord::to("").value("a").timestamp(millis);
        fixture.produce(&partition(&topic, 0), vec![record]).await;
    }
    assert_eq!(admin.offset(partition(&topic, 0), OffsetSpec::MaxTimestamp).await.unwrap(), 1);
}

pub(crate) async fn partitions_are_added_and_never_taken_away(fixture: &Fixture) {
    let topic = fixture.topic(2).await;
    let admin = &fixture.ports.admin;
    // Its leaders are known before.
    admin.offset(partition(&topic, 1), OffsetSpec::Latest).await.unwrap();
    admin.create_partitions(topic.clone(), 4).await.unwrap();
    assert_eq!(admin.topics(vec![topic.clone()]).await.unwrap()[0].as_ref().unwrap().partitions, 4);
    assert_eq!(admin.offset(partition(&topic, 3), OffsetSpec::Latest).await.unwrap(), 0);
    let error = admin.create_partitions(topic.clone(), 3).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode(37)), "INVALID_PARTITIONS");
    assert!(error.to_string().contains(&topic), "{error}");
    let error = admin.create_partitions(unique("missing"), 3).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}

pub(crate) async fn configuration_is_changed_entry_by_entry(fixture: &Fixture) {
    let name = unique("topic");
    let admin = &fixture.ports.admin;
    admin.create_topic(NewTopic::new(&name, 1).config("max.message.bytes", "12345")).await.unwrap();
    let set = async |entry: &str| {
        let entries = admin.describe_topic_configs(name.clone()).await.unwrap();
        assert!(entries.windows(2).all(|pair| pair[0].name < pair[1].name), "{entries:?}");
        let found = entries.into_iter().find(|found| found.name == entry).unwrap();
        (found.is_own, found.value.unwrap())
    };
    let (own, default) = set("retention.ms").await;
    assert!(!own);
    assert_eq!(set("max.message.bytes").await, (true, "12345".to_owned()));

    let changes = vec![ConfigChange::set("retention.ms", "77000"), ConfigChange::delete("max.message.bytes")];
    admin.alter_topic_configs(name.clone(), changes).await.unwrap();
    eventually("it has changed", || async { set("retention.ms").await == (true, "77000".to_owned()) }).await;
    assert!(!set("max.message.bytes").await.0);
    admin.alter_topic_configs(name.clone(), vec![ConfigChange::delete("retention.ms")]).await.unwrap();
    eventually("it is the default again", || async { set("retention.ms").await == (false, default.clone()) }).await;

    let wrong = vec![ConfigChange::set("cleanup.policy", "sometimes")];
    let error = admin.alter_topic_configs(name, wrong).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode(40)), "INVALID_CONFIG: {error}");
    let missing = vec![ConfigChange::set("retention.ms", "77000")];
    let error = admin.alter_topic_configs(unique("missing"), missing).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), "{error}");
}

pub(crate) async fn records_are_deleted_up_to_an_offset(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let (partition, admin) = (partition(&topic, 0), &fixture.ports.admin);
    fixture.produce(&partition, records(0..5)).await;
    assert_eq!(admin.delete_records(partition.clone(), 3).await.unwrap(), 3);
    assert_eq!(admin.offset(partition.clone(), OffsetSpec::Earliest).await.unwrap(), 3);
    assert_eq!(admin.delete_records(partition.clone(), 2).await.unwrap(), 3, "what is gone is gone");
    let error = admin.delete_records(partition.clone(), 6).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::OFFSET_OUT_OF_RANGE));
    assert_eq!(admin.delete_records(partition, -1).await.unwrap(), 5);
    let error = admin.delete_records(crate::fixture::partition(&unique("missing"), 0), 0).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}

pub(crate) async fn the_cluster_and_its_topics_are_told(fixture: &Fixture) {
    let topics = [fixture.topic(1).await, fixture.topic(1).await];
    let admin = &fixture.ports.admin;
    let cluster = admin.describe_cluster().await.unwrap();
    assert!(cluster.id.is_some_and(|id| !id.is_empty()));
    assert!(cluster.brokers.iter().any(|broker| Some(broker.id) == cluster.controller));
    assert!(cluster.brokers.iter().any(|broker| broker.address == fixture.address), "{:?}", cluster.brokers);
    let listed = admin.list_topics().await.unwrap();
    assert!(topics.iter().all(|topic| listed.contains(topic)), "{listed:?}");
    assert!(listed.is_sorted());
}

pub(crate) async fn groups_are_listed_and_described(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let (group, admin) = (unique("group"), &fixture.ports.admin);
    let offset = CommittedOffset::new(partition(&topic, 0), 0);
    assert_eq!(fixture.ports.offsets.commit(group.clone(), vec![offset]).await.unwrap(), [Ok(())]);
    let listed = admin.list_groups().await.unwrap();
    let found = listed.iter().find(|listed| listed.group == group).unwrap();
    assert_eq!(found.state.as_deref(), Some("Empty"));
    assert!(found.kind.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case("classic")), "{found:?}");
    let described = admin.describe_group(group.clone()).await.unwrap();
    assert_eq!((described.group, described.state.as_str(), described.is_modern), (group, "Empty", false));
    assert_eq!(described.members, []);
    let error = admin.describe_group(unique("missing")).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::GROUP_ID_NOT_FOUND));
}

/// An address at which nobody listens.
fn closed() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

pub(crate) async fn an_unreachable_broker_is_named_with_its_cause(_: &Fixture) {
    let (first, second) = (closed(), closed());
    let error = native::connect(ConnectionSettings::new([&first, &second])).await.unwrap_err();
    let BrokerError::Unreachable { addresses, causes } = &error else { panic!("{error}") };
    assert_eq!(*addresses, format!("{first}, {second}"));
    assert!(causes.contains(&format!("{first}: ")) && causes.contains(&format!("{second}: ")), "{causes}");
    assert!(causes.contains("refused"), "{causes}");
}

pub(crate) async fn a_broker_that_never_answers_is_an_error_in_time(_: &Fixture) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut settings = settings(&address);
    settings.connect_timeout = Duration::from_millis(300);
    let connecting = native::connect(settings);
    let error = tokio::time::timeout(PATIENCE, connecting).await.expect("bounded").unwrap_err();
    let BrokerError::Unreachable { causes, .. } = &error else { panic!("{error}") };
    assert!(causes.contains(&address) && causes.contains("no usable connection within"), "{causes}");
}

pub(crate) async fn the_second_bootstrap_address_is_used(fixture: &Fixture) {
    let settings = ConnectionSettings::new([closed(), fixture.address.clone()]);
    let ports = fixture.with(|own| *own = settings).await;
    let topic = fixture.topic(1).await;
    assert_eq!(ports.produce.produce(partition(&topic, 0), records(0..1)).await.unwrap(), [0]);
}

pub(crate) async fn calls_work_from_a_runtime_without_io(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let native = native::connect(settings(&fixture.address)).await.unwrap();
    let ports = fixture.ports.clone();
    let caller = std::thread::spawn(move || {
        let bare = tokio::runtime::Builder::new_current_thread().build().unwrap();
        bare.block_on(async {
            let offsets = ports.produce.produce(partition(&topic, 0), records(0..2)).await.unwrap();
            let end = bezoar::broker::Admin::offset(&native, partition(&topic, 0), OffsetSpec::Latest).await.unwrap();
            (offsets, end)
        })
    });
    let (offsets, end) = tokio::task::spawn_blocking(move || caller.join().unwrap()).await.unwrap();
    assert_eq!((offsets, end), (vec![0, 1], 2));
}
