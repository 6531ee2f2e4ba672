//! `dlq replay` and `dlq discard`.

use serde_json::{Value, json};

use crate::stage::{Letter, Stage};

#[tokio::test]
async fn dead_letters_go_back_to_where_they_came_from_once() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    let ran = stage.run(&format!("dlq replay {validation}/0/1 {poison}/0/0 --yes")).await;
    let text = ran.ends(0);
    for line in [
        &format!("{validation}/0/1: sent to {}/0/", stage.orders),
        &format!("{poison}/0/0: sent to {}/0/", stage.orders),
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.ends_with("replayed 2, failed 0, skipped 0\n"), "{text}");
    let records = stage.records(&stage.orders).await;
    assert_eq!(records.len(), 2);
    let first = records.iter().find(|record| record.key.as_deref() == Some(b"k1")).unwrap();
    assert_eq!(first.value.as_deref(), Some(&br#"{"order_id":"ord_1","items":"broken"}"#[..]));
    assert!(first.headers.iter().any(|header| header.name == "tenant"));

    let again = stage.run(&format!("dlq replay {validation}/0/1 --yes")).await;
    assert!(again.ends(4).contains("skipped 1: resolved already"), "{}", again.stdout);
    let forced = stage.run(&format!("dlq replay {validation}/0/1 --again --yes")).await;
    assert!(forced.ends(0).contains("replayed 1"), "{}", forced.stdout);
    assert_eq!(stage.records(&stage.orders).await.len(), 3);

    assert_eq!(stage.json("dlq list --source $ORDERS").await.len(), 3);
    let resolved = stage.json("dlq list --source $ORDERS --state resolved").await;
    assert_eq!(resolved.len(), 2);
    assert!(resolved.iter().all(|entry| entry["replayed"] == true && entry["state"] == "replayed"));
    let result = resolved[0]["replay_result"].as_str().unwrap();
    assert!(result.starts_with(&format!("success: {}/0/", stage.orders)), "{result}");
    let all = stage.run("dlq list --source $ORDERS --state all").await;
    assert!(all.ends(0).lines().next().unwrap().contains("STATE"), "{}", all.stdout);
    let shown = stage.run(&format!("dlq show {validation}/0/1")).await;
    assert!(shown.ends(0).contains(&format!("State            replayed to {}/0/", stage.orders)), "{}", shown.stdout);
}

#[tokio::test]
async fn a_group_or_all_is_replayed_with_json_lines() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    let fingerprint = stage.json("dlq groups --source $ORDERS").await[0]["fingerprint"].as_str().unwrap().to_owned();
    let line = format!("dlq replay --source $ORDERS --fingerprint {fingerprint} --yes");
    let lines = stage.json(&line).await;
    assert_eq!(lines.len(), 5);
    for letter in &lines[..4] {
        assert_eq!((&letter["kind"], &letter["outcome"]), (&json!("letter"), &json!("success")), "{letter}");
        assert!(letter["place"].as_str().unwrap().starts_with(&validation), "{letter}");
        assert!(letter["sent_to"].as_str().unwrap().starts_with(&format!("{}/0/", stage.orders)), "{letter}");
    }
    let summary = json!({
        "kind": "summary", "success": 4, "failed": 0, "skipped": 0, "would_send": 0, "dry_run": false, "interrupted": false,
        "maybe_doubled": [],
        "skips": {"dry_run": 0, "resolved": 0, "claimed": 0, "parked": 0, "not_allowed": 0, "no_source": 0},
    });
    assert_eq!(lines[4], summary);
    // Those are resolved now.
    stage.run(&line).await.fails(4, "no dead letter fits");
    let rest = stage.run("dlq replay --source $ORDERS --all --yes --rate 100 --in-flight 1").await;
    assert_eq!(rest.ends(0), "replayed 1, failed 0, skipped 0\n");
    assert_eq!(stage.json(&format!("dlq stats {poison}")).await[0]["replayed"], 1);
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    let ran = stage.run("dlq replay --source $ORDERS --category validation --dry-run").await;
    let text = ran.ends(0);
    assert!(text.contains(&format!("{validation}/0/3: would be sent to {}/0\n", stage.orders)), "{text}");
    assert!(text.ends_with(&format!("would send 4 dead letters to {}\n", stage.orders)), "{text}");
    assert_eq!(ran.stderr, "nothing was sent\n");
    assert_eq!(stage.json("dlq list --source $ORDERS").await.len(), 5);
    assert!(stage.records(&stage.orders).await.is_empty());
}

#[tokio::test]
async fn a_dry_run_for_programs_tells_what_would_be_sent_from_what_is_left() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    stage.run(&format!("dlq discard {validation}/0/0 --reason r --yes")).await.ends(0);
    let lines = stage.json("dlq replay --source $ORDERS --category validation --state all --dry-run").await;
    let of = |outcome| lines.iter().filter(|line| line["outcome"] == outcome).collect::<Vec<_>>();
    let (planned, left) = (of("would_send"), of("skipped"));
    assert_eq!((planned.len(), left.len(), lines.len()), (3, 1, 5), "{lines:?}");
    assert!(planned.iter().all(|line| line["target"] == format!("{}/0", stage.orders) && line["reason"].is_null()));
    assert!(left[0]["reason"].as_str().unwrap().contains("resolved already"), "{left:?}");
    let summary = &lines[4];
    assert_eq!((&summary["would_send"], &summary["skipped"]), (&json!(3), &json!(4)));
    let skips = json!({"dry_run": 3, "resolved": 1, "claimed": 0, "parked": 0, "not_allowed": 0, "no_source": 0});
    assert_eq!(summary["skips"], skips);
}

#[tokio::test]
async fn a_place_without_a_dead_letter_is_nothing_to_do() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    for how in ["--yes", "--dry-run", "--yes --output json", "--dry-run --output json"] {
        let ran = stage.run(&format!("dlq replay {validation}/0/99 {how}")).await;
        assert!(ran.ends(4).contains(&format!("there is no dead letter at {validation}/0/99")), "{how}: {ran:?}");
    }
    // Where others are sent something has failed.
    stage.run(&format!("dlq replay {validation}/0/0 {validation}/0/99 --yes")).await.ends(1);
    stage.run(&format!("dlq discard {validation}/0/99 --reason r --yes")).await.ends(4);
    stage.run(&format!("dlq discard {validation}/0/1 {validation}/0/99 --reason r --yes")).await.ends(1);
}

#[tokio::test]
async fn only_what_is_allowed_is_a_target() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    let repair = format!("{}-repair", stage.orders);
    stage.create(&repair, 1).await;
    let refused = stage.run(&format!("dlq replay {validation}/0/0 --to {repair} --yes")).await;
    assert!(refused.ends(4).contains(&format!("allow it by --allow-target {repair}")), "{}", refused.stdout);
    let allowed = stage.run(&format!("dlq replay {validation}/0/0 --to {repair} --allow-target {repair} --yes")).await;
    assert!(allowed.ends(0).contains(&format!("sent to {repair}/0/0")), "{}", allowed.stdout);
    let mut command = stage.command(["dlq", "replay", &format!("{validation}/0/1"), "--to", &repair, "--yes"]);
    command.env("BEZOAR_ALLOWED_TARGETS", format!("other,{repair}"));
    crate::stage::ran(command).await.ends(0);
    assert_eq!(stage.records(&repair).await.len(), 2);
    assert!(stage.records(&stage.orders).await.is_empty());
}

#[tokio::test]
async fn nothing_is_sent_without_a_yes() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    for line in ["dlq replay --source $ORDERS --all".to_owned(), format!("dlq discard {validation}/0/0 --reason r")] {
        stage.run(&line).await.fails(2, "add --yes");
    }
    assert_eq!(stage.json("dlq list --source $ORDERS").await.len(), 5);
}

#[tokio::test]
async fn a_failure_is_counted_and_said() {
    let stage = Stage::new().await;
    let topic = "gone".to_owned() + &stage.orders + ".dlq";
    stage.create(&topic, 1).await;
    for offset in 0..3 {
        stage.produce(Letter::new(offset, "unknown", "E", "m").record(&topic).value("v")).await;
    }
    // The source topic does not exist.
    let ran = stage.run(&format!("dlq replay {topic} --all --yes")).await;
    let text = ran.ends(1);
    assert!(text.contains(&format!("{topic}/0/0: failed: ")), "{text}");
    assert!(text.contains("--to"), "{text}");
    assert!(text.contains("replayed 0, failed 3, skipped 0\n  failed 3: "), "{text}");
    assert_eq!(stage.json(&format!("dlq list {topic}")).await.len(), 3);
    let stopped = stage.run(&format!("dlq replay {topic} --all --yes --stop-at-first-error --in-flight 1")).await;
    assert!(stopped.ends(1).contains("failed 1"), "{}", stopped.stdout);
    assert!(stopped.stderr.contains("ended at the first failure"), "{}", stopped.stderr);
}

#[tokio::test]
async fn a_discard_resolves_with_a_reason() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    stage.run(&format!("dlq discard {validation}/0/0 --yes")).await.fails(2, "--reason");
    let mut empty = stage.command(["dlq", "discard", &format!("{validation}/0/0"), "--yes", "--reason", " "]);
    empty.env_remove("X");
    crate::stage::ran(empty).await.fails(2, "the reason (--reason) is empty");
    let args = ["dlq", "discard", &format!("{validation}/0/0"), "--yes", "--reason", "a test\u{1b}[2J order"];
    assert_eq!(crate::stage::ran(stage.command(args)).await.ends(0), "discarded 1 dead letter\n");
    let again = stage.run(&format!("dlq discard {validation}/0/0 --reason again --yes")).await;
    again.fails(4, "1 dead letter left: resolved already");
    let shown = stage.run(&format!("dlq show {validation}/0/0")).await;
    assert!(shown.ends(0).contains(": a test\\u{1b}[2J order\n"), "{}", shown.stdout);
    let json = stage.json("dlq discard --source $ORDERS --category validation --reason all --yes").await;
    assert_eq!(json, [json!({"discarded": 3, "skipped": 0, "claimed": 0, "missing": 0, "unrecognized": 0})]);
    let stats = stage.json(&format!("dlq stats {validation}")).await;
    assert_eq!((&stats[0]["discarded"], &stats[0]["unresolved"]), (&json!(4), &json!(0)));
    stage
        .run("dlq discard --source $ORDERS --category validation --reason all --yes")
        .await
        .fails(4, "no dead letter fits");
    assert_eq!(stage.json(&format!("dlq show {validation}/0/0")).await[0]["replayed_at"], Value::Null);
}

#[tokio::test]
async fn what_is_to_be_done_must_be_said() {
    let stage = Stage::new().await;
    stage.run("dlq replay --yes").await.fails(2, "nothing to replay is named");
    stage.run("dlq replay --source $ORDERS --yes").await.fails(2, "say which dead letters to replay: give");
    stage.run("dlq discard --source $ORDERS --reason r --yes").await.fails(2, "or --all");
    stage.run("dlq replay $ORDERS.dlq/0/0 --all --yes").await.fails(2, "places go with neither");
    stage.run("dlq replay $ORDERS.dlq/0/0 --in-flight 0 --yes").await.fails(2, "--in-flight");
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_ends_a_replay_and_says_how_far_it_came() {
    use std::process::Stdio;
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

    let stage = Stage::new().await;
    stage.fill().await;
    let args = [
        "dlq",
        "replay",
        "--source",
        &stage.orders,
        "--all",
        "--yes",
        "--rate",
        "1",
        "--in-flight",
        "1",
        "--output",
        "json",
    ];
    let mut replay = stage.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(replay.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(first["outcome"], "success");
    let id = replay.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let mut last = first;
    while let Some(line) = lines.next_line().await.unwrap() {
        last = serde_json::from_str(&line).unwrap();
    }
    assert_eq!((&last["kind"], &last["interrupted"]), (&json!("summary"), &json!(true)));
    assert!(last["success"].as_u64().unwrap() < 5, "{last}");
    let mut said = String::new();
    replay.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
    let said: Vec<&str> = said.lines().collect();
    assert!(said[0].starts_with("stopping: ") && said[0].ends_with("press Ctrl-C again to leave at once"), "{said:?}");
    assert!(said[1].starts_with("interrupted: what was under way is sent and marked"), "{said:?}");
    assert_eq!(replay.wait().await.unwrap().code(), Some(130));
}
