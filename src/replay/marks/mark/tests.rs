use proptest::prelude::*;

use super::*;

fn topic() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9._-]{1,20}"
}

fn record() -> impl Strategy<Value = RecordId> {
    (topic(), 0..i32::MAX, 0..i64::MAX).prop_map(|(topic, partition, offset)| RecordId {
        topic_id: None,
        partition: TopicPartition::new(topic, partition),
        offset,
    })
}

fn id() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        (0..i64::MAX, any::<bool>()).prop_map(|(lease, again)| Outcome::Claimed { lease, again }),
        record().prop_map(|to| Outcome::Replayed { to }),
        "\\PC{0,40}".prop_map(|reason| Outcome::Failed { reason }),
        "\\PC{0,40}".prop_map(|reason| Outcome::Discarded { reason }),
    ]
}

fn lineage() -> impl Strategy<Value = Lineage> {
    let places = (prop::collection::vec(record(), 0..3), prop::collection::vec(record(), 0..3));
    let origin = (prop::option::of(record()), prop::option::of(id()));
    (id(), record(), origin, any::<u32>(), places).prop_map(|(replay_id, target, origin, count, places)| Lineage {
        replay_id,
        target: target.partition,
        origin: origin.0.map(|record| RecordId { topic_id: origin.1, ..record }),
        count,
        also_at: places.0,
        maybe_at: places.1.into_iter().map(|record| record.partition).collect(),
    })
}

pub(in crate::replay::marks) fn mark() -> impl Strategy<Value = Mark> {
    let run = (id(), "\\PC{0,20}", any::<u32>()).prop_map(|(id, host, pid)| RunId { id, host: host.into(), pid });
    let times = prop::option::of(0i64..4_000_000_000_000);
    (prop::option::of(id()), outcome(), times, run, lineage()).prop_map(
        |(topic_id, outcome, replayed_at, run, lineage)| Mark {
            topic_id,
            outcome,
            replayed_at,
            run,
            lineage: Some(lineage),
        },
    )
}

proptest! {
    #[test]
    fn marks_round_trip(mark in mark()) {
        prop_assert_eq!(Mark::from_json(&mark.to_json()), Some(mark));
    }

    #[test]
    fn garbage_is_no_mark(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(Mark::from_json(&bytes), None);
    }

    #[test]
    fn what_was_cut_or_changed_never_panics(mark in mark(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut json = mark.to_json();
        let at = at.index(json.len());
        json[at] = byte;
        let _ = Mark::from_json(&json);
        prop_assert_eq!(Mark::from_json(&json[..at]), None);
    }
}

#[test]
fn the_format_is_as_documented() {
    let mark = Mark {
        topic_id: Some(Uuid::from_u128(1)),
        outcome: Outcome::Replayed { to: parse_record("orders/0/17").unwrap() },
        replayed_at: Some(1_705_314_600_007),
        run: RunId { id: Uuid::from_u128(2), host: "host".into(), pid: 3 },
        lineage: Some(Lineage {
            replay_id: Uuid::from_u128(4),
            target: TopicPartition::new("orders", 0),
            origin: parse_record("orders/0/5"),
            count: 1,
            also_at: Vec::new(),
            maybe_at: Vec::new(),
        }),
    };
    let json: serde_json::Value = serde_json::from_slice(&mark.to_json()).unwrap();
    let wanted = serde_json::json!({
        "version": 1, "state": "replayed", "dead_letter_topic_id": Uuid::from_u128(1).to_string(),
        "replayed": true, "replayed_at": "2024-01-15T10:30:00.007Z", "replay_result": "success: orders/0/17",
        "reason": null, "run": {"id": Uuid::from_u128(2).to_string(), "host": "host", "pid": 3},
        "replay_id": Uuid::from_u128(4).to_string(), "target": {"topic": "orders", "partition": 0},
        "origin": {"topic": "orders", "topic_id": null, "partition": 0, "offset": 5}, "replay_count": 1,
    });
    assert_eq!(json, wanted);
}

#[test]
fn a_later_version_is_no_mark_and_fields_that_are_not_known_are_let_be() {
    let mark = Mark {
        topic_id: None,
        outcome: Outcome::Discarded { reason: "obsolete".to_owned() },
        replayed_at: None,
        run: RunId { id: Uuid::from_u128(2), host: "host".into(), pid: 3 },
        lineage: None,
    };
    let mut json: serde_json::Value = serde_json::from_slice(&mark.to_json()).unwrap();
    json["approved_by"] = "somebody".into();
    assert_eq!(Mark::from_json(json.to_string().as_bytes()), Some(mark));
    json["version"] = 2.into();
    assert_eq!(Mark::from_json(json.to_string().as_bytes()), None);
}
