use proptest::prelude::*;

use super::super::condition::at;
use super::super::depth::Found;
use super::*;
use crate::policy::Category;

fn state() -> State {
    let tags = BTreeMap::from([("environment".to_owned(), "test".to_owned())]);
    State::new(Limits::default(), Signature { source: "me".into(), group: Some("fulfilment".to_owned()), tags })
}

fn reading(topic: &str, depth: u64) -> Reading {
    let found = Found { id: None, depth, oldest: None };
    Reading { topic: topic.into(), category: Some(Category::Poison), found: Some(found) }
}

#[test]
fn an_alert_says_who_what_and_since_when() {
    let mut state = state();
    let none = BTreeSet::new();
    let alert = state.read(at(0), vec![reading("orders.dlq.poison", 1_000)], &none).remove(0);
    assert_eq!((alert.kind, alert.state, alert.severity), (AlertKind::Depth, AlertState::Firing, Severity::Critical));
    assert_eq!((&*alert.key, &*alert.source), ("bezoar/depth/orders.dlq.poison;environment=test", "me"));
    assert!(!alert.page);
    let expected =
        [("category", "poison"), ("environment", "test"), ("group", "fulfilment"), ("topic", "orders.dlq.poison")];
    let found: Vec<_> = alert.tags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(found, expected);
    assert_eq!((alert.since, alert.at, alert.until - alert.at), (at(0).wall, at(0).wall, 3_660_000));
    let over = state.read(at(90), vec![reading("orders.dlq.poison", 0)], &none).remove(0);
    assert_eq!(
        (over.state, over.severity, over.previous),
        (AlertState::Resolved, Severity::Info, Some(Severity::Critical))
    );
    assert_eq!((over.key, over.since, over.at), (alert.key, at(0).wall, at(90).wall));
}

#[test]
fn a_topic_that_another_instance_speaks_of_is_forgotten_without_a_word() {
    let mut state = state();
    let none = BTreeSet::new();
    assert_eq!(state.read(at(0), vec![reading("a", 500), reading("b", 500)], &none).len(), 2);
    // It could not be read this time: nothing is forgotten.
    let unread = BTreeSet::from(["b".into()]);
    assert_eq!(state.read(at(30), vec![reading("a", 500)], &unread), []);
    assert_eq!(state.health(at(30)).len(), 2);
    assert_eq!(state.read(at(60), vec![reading("a", 500)], &none), []);
    assert_eq!(state.health(at(60)).len(), 1);
    assert_eq!(state.read(at(90), vec![reading("a", 500), reading("b", 500)], &none).len(), 1);
}

#[test]
fn a_partition_that_could_not_be_looked_at_is_told_of_once_and_its_end_too() {
    let mut state = state();
    let partition = TopicPartition::new("orders", 3);
    let at_start =
        |start, watermark| Position { partition: partition.clone(), watermark, start, end: 90, retention: None };
    let (ours, nobodys) = (BTreeSet::from([partition.clone()]), BTreeSet::new());
    assert_eq!(state.positions(at(0), &ours, &[at_start(20, 10)]).len(), 1);
    // Its leader does not answer, or the partition starts again.
    assert_eq!(state.positions(at(30), &ours, &[]), []);
    assert_eq!(state.positions(at(60), &ours, &[at_start(20, 10)]), []);
    assert!(state.positions(at(90), &ours, &[at_start(20, 90)])[0].is_resolved());
    // Another instance has it now.
    assert_eq!(state.positions(at(120), &ours, &[at_start(95, 90)]).len(), 1);
    assert_eq!(state.positions(at(150), &nobodys, &[]), []);
    assert_eq!(state.positions(at(180), &ours, &[at_start(90, 90)]), []);
}

#[test]
fn keys_of_long_topics_are_short_and_differ() {
    let signature = Signature::default();
    let long = "x".repeat(245);
    let (one, other) = (signature.key(&format!("depth/{long}.dlq")), signature.key(&format!("depth/{long}.dlt")));
    assert!(one.len() <= LONGEST_KEY && other.len() <= LONGEST_KEY && one != other, "{one} {other}");
}

proptest! {
    /// Whatever the depths do: each topic's alerts alternate as they should, and whoever believes the last one knows how the
    /// topic is.
    #[test]
    fn the_last_alert_of_each_topic_is_true(steps in prop::collection::vec(prop::collection::vec(0u64..2_000, 3), 1..40)) {
        let (mut state, none) = (state(), BTreeSet::new());
        let mut believed: BTreeMap<String, Option<Severity>> = BTreeMap::new();
        for (second, depths) in (0..).map(|step| step * 30).zip(steps) {
            let names = ["a.dlq.poison", "b.dlq.poison", "c.dlq.poison"];
            let readings = names.iter().zip(&depths).map(|(name, depth)| reading(name, *depth)).collect();
            for alert in state.read(at(second), readings, &none) {
                let topic = alert.tags["topic"].clone();
                let before = believed.get(&topic).copied().flatten();
                prop_assert_eq!(alert.previous, before);
                believed.insert(topic, (!alert.is_resolved()).then_some(alert.severity));
            }
            for (name, depth) in names.iter().zip(depths) {
                match believed.get(*name).copied().flatten() {
                    None => prop_assert!(depth < 100),
                    Some(Severity::Critical) => prop_assert!(depth >= 900),
                    Some(_) => prop_assert!((90..1_000).contains(&depth)),
                }
            }
        }
    }
}
