//! `dlq list`, `groups`, `stats` and `show`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bezoar::record::{Header, ProducerRecord};

use crate::stage::{Letter, Stage};

const FIELDS: [&str; 36] = [
    "place",
    "topic",
    "topic_id",
    "partition",
    "offset",
    "timestamp",
    "state",
    "replayed",
    "replayed_at",
    "replay_result",
    "duplicate_of",
    "id",
    "origin",
    "last_hop",
    "category",
    "error_type",
    "message",
    "backtrace",
    "attempts",
    "first_failed_at",
    "last_failed_at",
    "group",
    "consumer_id",
    "consumer_version",
    "fingerprint",
    "replay_count",
    "convention",
    "fidelity",
    "warnings",
    "key",
    "headers",
    "value",
    "key_base64",
    "value_base64",
    "name_base64",
    "timestamp",
];

#[tokio::test]
async fn a_list_tells_places_ages_sources_and_errors() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    let ran = stage.run("dlq list --source $ORDERS").await;
    let lines: Vec<&str> = ran.ends(0).lines().collect();
    assert_eq!(lines.len(), 6, "{}", ran.stdout);
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["PLACE", "AGE", "SOURCE", "ERROR"]);
    assert!(lines[1].starts_with(&format!("{poison}/0/0")), "{}", ran.stdout);
    assert!(lines[1].ends_with("panic: panicked at src/orders.rs:7: no font"), "{}", ran.stdout);
    assert!(lines[2].starts_with(&format!("{validation}/0/0")), "{}", ran.stdout);
    assert!(lines[2].contains(&format!("{}/0/0", stage.orders)), "{}", ran.stdout);
    assert!(lines[2].ends_with("BadItems: items of order 0 are no list"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "5 dead letters fit\n");
}

#[tokio::test]
async fn a_limit_is_said_and_all_are_counted() {
    let stage = Stage::new().await;
    stage.fill().await;
    let ran = stage.run("dlq list --source $ORDERS --limit 2").await;
    assert_eq!(ran.ends(0).lines().count(), 3);
    assert_eq!(ran.stderr, "5 dead letters fit; 2 listed, --limit lists more\n");

    let places = |entries: Vec<serde_json::Value>| entries.iter().map(|it| it["place"].to_string()).collect::<Vec<_>>();
    let newest = stage.json("dlq list $ORDERS.dlq.validation --newest").await;
    let mut oldest = stage.json("dlq list $ORDERS.dlq.validation").await;
    oldest.reverse();
    assert_eq!(places(newest), places(oldest));
    let ran = stage.run("dlq list --source $ORDERS --newest --limit 2").await;
    assert_eq!(ran.ends(0).lines().count(), 3);
    // A piece of the log is read at a time: where that is all of it, all are counted.
    assert_eq!(ran.stderr, "5 dead letters fit; 2 listed, --limit lists more\n");
}

#[tokio::test]
async fn each_condition_is_a_flag() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    for (conditions, fit) in [
        ("--category poison", 1),
        ("--category poison,validation", 5),
        ("--category transient", 0),
        ("--error-type orders::BadItems", 4),
        (&format!("--source-topic {}", stage.orders), 5),
        ("--source-topic elsewhere", 0),
        ("--source-partition 0", 5),
        ("--source-partition 1", 0),
        ("--source-offsets 1..3", 2),
        ("--source-offsets 4", 1),
        ("--key k2", 1),
        ("--key-base64 azI=", 1),
        ("--since 1h", 5),
        ("--until 1h", 0),
        ("--since 2024-01-15T10:30:00Z --until 2100-01-01T00:00:00Z", 5),
        ("--since 2024-01-15", 5),
        ("--until 2024-01-15", 0),
        ("--header tenant", 4),
        ("--header tenant=blue", 4),
        ("--header tenant=red", 0),
        ("--text font", 1),
        ("--state resolved", 0),
        ("--state all", 5),
        ("--key k2 --text font", 0),
    ] {
        let ran = stage.run(&format!("dlq list --source $ORDERS {conditions} --output json")).await;
        assert_eq!(ran.json().len(), fit, "{conditions}: {ran:?}");
        ran.ends(if fit == 0 { 4 } else { 0 });
    }
    let fingerprint =
        stage.json("dlq groups --source $ORDERS --limit 1").await[0]["fingerprint"].as_str().unwrap().to_owned();
    assert_eq!(stage.json(&format!("dlq list --source $ORDERS --fingerprint {}", &fingerprint[..6])).await.len(), 4);
    // Topics by name and by pattern.
    assert_eq!(stage.json(&format!("dlq list {poison} {validation}")).await.len(), 5);
    assert_eq!(stage.json("dlq list $ORDERS.dlq*").await.len(), 5);
}

#[tokio::test]
async fn what_is_not_there_is_said_by_the_exit_code() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    stage.run("dlq list --source $ORDERS --key nobody").await.fails(4, "no dead letter fits");
    stage.run("dlq groups --source $ORDERS --key nobody").await.fails(4, "no dead letter fits");
    stage.run("dlq list --source nothing-here").await.fails(4, "nothing-here.dlq");
    stage.run("dlq list $ORDERS.dlq.validatoin").await.fails(4, &format!("did you mean {validation:?}?"));
    stage.run("dlq list nothing-here*").await.fails(4, "no topic fits");
    stage.run(&format!("dlq show {validation}/0/99")).await.fails(4, "the log ends at offset 4");
    stage.run(&format!("dlq show {validation}/7/0")).await.fails(4, "no partition");
    stage.run("dlq show nothing-here.dlq/0/0").await.fails(4, "does not exist");
}

#[tokio::test]
async fn a_source_topic_in_place_of_its_dead_letters_is_noticed() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    // It is empty: nothing can be said.
    assert_eq!(stage.run("dlq list $ORDERS").await.stderr, "error: no dead letter fits\n");
    for number in 0..11 {
        stage.produce(ProducerRecord::to(&*stage.orders).partition(0).value(format!("{number}"))).await;
    }
    let said =
        format!("none of the 11 records of \"{0}\" is a dead letter; did you mean --source {0}?\n", stage.orders);
    for line in ["stats $ORDERS", "list $ORDERS --limit 2", "groups $ORDERS"] {
        let ran = stage.run(&format!("dlq {line}")).await;
        ran.ends(0);
        assert!(ran.stderr.ends_with(&said), "{line}: {}", ran.stderr);
    }
    let none = stage.run("dlq list $ORDERS --key nobody").await;
    none.ends(4);
    assert!(none.stderr.starts_with(&said), "{}", none.stderr);
    for line in [format!("list {validation}"), format!("stats {validation} {poison}")] {
        let ran = stage.run(&format!("dlq {line}")).await;
        assert!(!ran.stderr.contains("did you mean"), "{line}: {}", ran.stderr);
    }
}

#[tokio::test]
async fn groups_tell_what_is_the_same_fault() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    let ran = stage.run("dlq groups --source $ORDERS").await;
    let lines: Vec<Vec<&str>> = ran.ends(0).lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["COUNT", "FIRST", "LAST", "FINGERPRINT", "EXAMPLE", "ERROR"]);
    assert_eq!((lines[1][0], lines[1][4]), ("4", &*format!("{validation}/0/3")));
    assert_eq!((lines[2][0], lines[2][4]), ("1", &*format!("{poison}/0/0")));
    assert_eq!(ran.stderr, "5 dead letters in 2 groups\n");
    let groups = stage.json("dlq groups --source $ORDERS").await;
    assert_eq!((groups[0]["count"].as_u64(), groups[1]["count"].as_u64()), (Some(4), Some(1)));
    assert_eq!(groups[0]["example"]["place"], format!("{validation}/0/3"));
    assert!(groups[0]["first_seen"].as_str().unwrap() <= groups[0]["last_seen"].as_str().unwrap());
    let one = stage.run("dlq groups --source $ORDERS --limit 1").await;
    assert_eq!(one.ends(0).lines().count(), 2);
    assert_eq!(one.stderr, "5 dead letters in 2 groups; 1 shown, --limit shows more\n");
}

#[tokio::test]
async fn stats_count_per_topic() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    // In a topic for all categories the breakdown says something.
    let single = format!("{}.dlq", stage.orders);
    stage.create(&single, 1).await;
    stage.produce(Letter::new(9, "unknown", "E", "m").record(&single)).await;
    stage.produce(Letter::new(8, "transient", "E", "m").from(&single, "payments")).await;
    let ran = stage.run("dlq stats --source $ORDERS").await;
    let rows: Vec<Vec<&str>> = ran.ends(0).lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["TOPIC", "UNRESOLVED", "OLDEST", "REPLAYED", "DISCARDED", "TOTAL"]);
    let without_age = |row: &[&str]| [&row[..2], &row[3..]].concat().join(" ");
    assert_eq!(without_age(&rows[1]), format!("{single} 2 0 0 2"));
    assert_eq!(without_age(&rows[2]), format!("{poison} 1 0 0 1"));
    assert_eq!(without_age(&rows[3]), format!("{validation} 4 0 0 4"));
    let breakdown: Vec<String> = rows[5..].iter().map(|row| row.join(" ")).collect();
    let expected = ["1 transient", "1 unknown", &format!("1 from {}", stage.orders), "1 from payments"];
    assert_eq!(breakdown[0], "TOPIC UNRESOLVED BY");
    assert_eq!(breakdown[1..].len(), expected.len(), "{}", ran.stdout);
    for what in expected {
        assert!(breakdown.contains(&format!("{single} {what}")), "{what}: {}", ran.stdout);
    }

    let stats = stage.json("dlq stats --source $ORDERS").await;
    assert_eq!(stats[2]["categories"]["validation"], 4);
    assert_eq!(stats[2]["sources"][&stage.orders], 4);
    for (field, number) in [
        ("total", 4),
        ("unresolved", 4),
        ("replayed", 0),
        ("discarded", 0),
        ("claimed", 0),
        ("parked", 0),
        ("other_sources", 0),
    ] {
        assert_eq!(stats[2][field], number, "{field}");
    }
}

#[tokio::test]
async fn show_tells_all() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    let ran = stage.run(&format!("dlq show {validation}/0/2")).await;
    let text = ran.ends(0);
    let orders = &stage.orders;
    for line in [
        &format!("Dead letter      {validation}/0/2, published 20"),
        "State            unresolved",
        &format!("Came from        {orders}/0/2"),
        "Category         validation",
        "Error            orders::BadItems",
        "Message          items of order 2 are no list",
        "Attempts         3",
        "First failed     2024-01-15T10:30:00.000Z (",
        "Group            shipping",
        "Consumer         shipping@host:1 (version 1.2.3)",
        "Earlier replays  0",
        "Written as       bezoar (exact)",
        "Key (text, 2 bytes)\n  k2\n",
        "1 header\n  tenant: blue\n",
        "Value (JSON, 37 bytes)\n  {\n    \"order_id\": \"ord_2\",\n    \"items\": \"broken\"\n  }\n",
        "Backtrace\n  caused by: nothing\n  at all\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    assert!(!text.contains("Warning"), "{text}");
}

#[tokio::test]
async fn json_has_all_fields_and_all_bytes() {
    let stage = Stage::new().await;
    let topic = stage.dlq("unknown");
    stage.create(&topic, 1).await;
    let bytes: Vec<u8> = (0..=255).collect();
    let mut record = Letter::new(1, "unknown", "E", "m").record(&topic).key(bytes.clone()).value(bytes.clone());
    record.headers.extend([Header::null("none"), Header::new("twice", "1"), Header::new("twice", bytes.clone())]);
    record.headers.push(Header::new(&[0xffu8, 0xfe][..], ""));
    stage.produce(record).await;
    stage.produce(ProducerRecord::to(&*topic).key("")).await;
    let entries = stage.json(&format!("dlq list {topic}")).await;
    for (field, value) in entries[0].as_object().unwrap() {
        assert!(FIELDS.contains(&field.as_str()), "{field} is not among the documented fields: {value}");
    }
    for field in &FIELDS[..32] {
        assert!(entries[1].get(field).is_some(), "{field}");
    }
    let base64 = STANDARD.encode(&bytes);
    let first = &entries[0];
    assert_eq!((&first["key"], &first["key_base64"]), (&serde_json::Value::Null, &base64.clone().into()));
    assert_eq!((&first["value"], &first["value_base64"]), (&serde_json::Value::Null, &base64.clone().into()));
    let headers = serde_json::json!([
        {"name": "none", "value": null},
        {"name": "twice", "value": "1"},
        {"name": "twice", "value": null, "value_base64": base64},
        {"name": null, "name_base64": "//4=", "value": ""},
    ]);
    assert_eq!(first["headers"], headers);
    assert_eq!((&entries[1]["key"], &entries[1]["value"]), (&"".into(), &serde_json::Value::Null));
    let shown = stage.json(&format!("dlq show {topic}/0/0")).await;
    assert_eq!(shown, entries[..1]);
}

#[tokio::test]
async fn show_warns_of_what_should_not_be_replayed_unseen() {
    let stage = Stage::new().await;
    let topic = stage.dlq("unknown");
    stage.create(&topic, 1).await;
    let letter = Letter::new(1, "unknown", "E", "m");
    stage.produce(letter.from(&topic, "payments")).await;
    stage.produce(letter.from(&topic, "payments.group.retry.1m")).await;
    stage.produce(ProducerRecord::to(&*topic).partition(0).value("no headers at all")).await;
    let lossy = r#"{"original_message": {"raw": "x"}, "error": "ValueError: no", "failed_at": "2024-01-15T10:30:00Z", "retry_count": 3, "consumer_id": "c", "stack_trace": ""}"#;
    stage.produce(ProducerRecord::to(&*topic).partition(0).value(lossy)).await;
    for (offset, says) in [
        (0, "--allow-target payments"),
        (1, "looks like a retry or dead-letter topic itself"),
        (2, "where it came from is not known"),
        (3, "the original value was no JSON, and only a text made of it is here"),
    ] {
        let ran = stage.run(&format!("dlq show {topic}/0/{offset}")).await;
        let warning = ran.ends(0).lines().find(|line| line.starts_with("Warning")).map(str::to_owned);
        assert!(ran.stdout.contains(says), "{offset}: {warning:?} {}", ran.stdout);
    }
}
