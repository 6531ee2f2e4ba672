//! Records that try to steer the terminal or the tools.

use bezoar::record::{Header, ProducerRecord};

use crate::stage::{Letter, Stage, ran};

/// Clears the screen, colours, rings, goes back, hides, and turns text around; in UTF-8 and not.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\r\u{8}\u{9b}31m\u{202e}evil\u{200b}\u{feff}\t\u{0}\u{7f}";

fn is_harmless(text: &str) -> bool {
    text.chars().all(|character| {
        character == '\n' || !character.is_control() && !"\u{202e}\u{200b}\u{feff}".contains(character)
    })
}

#[tokio::test]
async fn no_control_character_of_a_record_reaches_the_terminal() {
    let stage = Stage::new().await;
    let topic = stage.dlq("unknown");
    stage.create(&topic, 1).await;
    let letter = Letter::new(0, "unknown", HOSTILE, HOSTILE);
    let mut record = letter.from(&topic, HOSTILE).key(HOSTILE).value(HOSTILE);
    record.headers.push(Header::new(HOSTILE, HOSTILE));
    record.headers.push(Header::new("binary", &b"\x1b[2J\xff"[..]));
    stage.produce(record).await;
    stage.produce(letter.record(&topic).value(format!("{{\"a\": {}}}", serde_json::to_string(HOSTILE).unwrap()))).await;
    stage.produce(ProducerRecord::to(&*topic).partition(0).value(&b"\x1b[2J\xff\xfe"[..])).await;
    for line in [
        "dlq list --source $ORDERS",
        "dlq groups --source $ORDERS",
        "dlq stats --source $ORDERS",
        "dlq show $ORDERS.dlq.unknown/0/0",
        "dlq show $ORDERS.dlq.unknown/0/1",
        "dlq show $ORDERS.dlq.unknown/0/2",
        "dlq tail --source $ORDERS --since 1h --limit 3",
    ] {
        for format in ["", " --output json"] {
            let ran = stage.run(&format!("{line}{format}")).await;
            assert!(
                ran.ends(0).contains("evil") || line.ends_with('2') || line.contains("stats"),
                "{line}: {}",
                ran.stdout
            );
            assert!(is_harmless(&ran.stdout) && is_harmless(&ran.stderr), "{line}: {:?} {:?}", ran.stdout, ran.stderr);
        }
    }
    // What is escaped in JSON is still the same text.
    let entry = &stage.json("dlq show $ORDERS.dlq.unknown/0/0").await[0];
    assert_eq!((entry["value"].as_str(), entry["message"].as_str()), (Some(HOSTILE), Some(HOSTILE)));
}

#[tokio::test]
async fn nor_does_one_by_a_replay_its_failures_or_the_log() {
    let stage = Stage::new().await;
    let topic = stage.dlq("unknown");
    stage.create(&topic, 1).await;
    for source in [HOSTILE, &stage.orders] {
        let letter = Letter::new(0, "unknown", HOSTILE, HOSTILE);
        let value = format!("{{\"a\": {}}}", serde_json::to_string(HOSTILE).unwrap());
        let mut record = letter.from(&topic, source).key(HOSTILE).value(value);
        record.headers.push(Header::new(HOSTILE, HOSTILE));
        stage.produce(record).await;
    }
    // An argument holds none.
    let argument = &*HOSTILE.replace('\0', "");
    let programs = [".", ".b = .a", "error(.a)", "{(.a): 1}"];
    let mut all: Vec<Vec<&str>> = programs.map(|program| vec!["--dry-run", "--fix", program]).into();
    all.extend([
        vec!["--dry-run"],
        vec!["--yes", "--allow-target", argument],
        vec!["--yes", "--to", argument],
        vec!["--yes"],
    ]);
    for more in all {
        for format in ["table", "json"] {
            let mut args = vec!["dlq", "replay", "--source", &stage.orders, "--all", "--output", format, "-vv"];
            args.extend(&more);
            let ran = ran(stage.command(args)).await;
            assert!(is_harmless(&ran.stdout) && is_harmless(&ran.stderr), "{more:?}: {} {:?}", ran.stdout, ran.stderr);
            if format == "json" {
                ran.json();
            }
        }
    }
    let discard = ["dlq", "discard", "--source", &stage.orders, "--all", "--reason", argument, "--yes"];
    ran(stage.command(discard)).await.ends(0);
    for format in ["table", "json"] {
        let args = ["dlq", "list", "--source", &stage.orders, "--state", "all", "--output", format, "-vv"];
        let ran = ran(stage.command(args)).await;
        assert!(is_harmless(&ran.stdout) && is_harmless(&ran.stderr), "{:?} {:?}", ran.stdout, ran.stderr);
    }
}

#[tokio::test]
async fn what_a_person_types_is_not_played_back_either() {
    let stage = Stage::new().await;
    for args in [vec!["dlq", "list", "a\u{1b}[2J"], vec!["dlq", "show", "a\u{1b}[2J/0/0"], vec!["lag", "a\u{1b}[2J"]] {
        let ran = ran(stage.command(&args)).await;
        assert!(is_harmless(&ran.stderr), "{args:?}: {:?}", ran.stderr);
    }
}

#[tokio::test]
async fn a_time_beyond_the_clocks_end_is_no_panic() {
    let stage = Stage::new().await;
    stage.run("topics --request-timeout 584000000000years").await.ends(0);
}
