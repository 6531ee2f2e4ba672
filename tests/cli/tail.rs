//! `dlq tail`, and commands whose reader goes.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::stage::{LIMIT, Letter, Stage};

#[tokio::test]
async fn tail_shows_dead_letters_as_they_come() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    let args = ["dlq", "tail", "--source", &stage.orders, "--limit", "2"];
    let mut tail = stage.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut notes = BufReader::new(tail.stderr.take().unwrap()).lines();
    assert_eq!(notes.next_line().await.unwrap().unwrap(), "following 2 topics; Ctrl-C ends it");
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    for number in 10..12 {
        let letter = Letter::new(number, "validation", "a::E", &format!("number {number}"));
        stage.produce(letter.record(&validation).value("{}")).await;
        let line = lines.next_line().await.unwrap().unwrap();
        let place = format!("{validation}/0/{}", number - 6);
        let said = format!("  {place}  validation  from {}/0/{number}  E: number {number}", stage.orders);
        assert!(line.ends_with(&said), "{line}");
    }
    assert_eq!(lines.next_line().await.unwrap(), None);
    assert_eq!(tail.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn tail_begins_in_the_past_where_it_is_told_to() {
    let stage = Stage::new().await;
    stage.fill().await;
    let entries = stage.json("dlq tail --source $ORDERS --since 1h --category validation --limit 4").await;
    let offsets: Vec<_> = entries.iter().map(|entry| entry["offset"].as_i64().unwrap()).collect();
    assert_eq!(offsets, [0, 1, 2, 3]);
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_ends_tail_cleanly() {
    let stage = Stage::new().await;
    stage.fill().await;
    let args = ["dlq", "tail", "--source", &stage.orders];
    let mut tail = stage.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut notes = BufReader::new(tail.stderr.take().unwrap());
    let mut said = String::new();
    notes.read_line(&mut said).await.unwrap();
    let id = tail.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    notes.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "following 2 topics; Ctrl-C ends it\n");
    assert_eq!(tail.wait().await.unwrap().code(), Some(0));
}

#[cfg(unix)]
#[tokio::test]
async fn a_reader_that_stops_reading_does_not_keep_tail_and_watch_from_ending() {
    let stage = Stage::new().await;
    let topic = stage.dlq("unknown");
    stage.create(&topic, 1).await;
    for number in 0..20 {
        let letter = Letter::new(number, "unknown", "E", "long");
        stage.produce(letter.record(&topic).value("x".repeat(50_000))).await;
    }
    let lines = [
        "dlq tail --source $ORDERS --since 1h --output json",
        "dlq watch --source $ORDERS --interval 1ms --warning 1 --output json",
    ];
    for line in lines {
        let line = line.replace("$ORDERS", &stage.orders);
        let mut command = stage.command(line.split(' ')).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = command.stdout.take().unwrap();
        // More than a pipe holds comes by and by.
        stdout.read_exact(&mut [0; 1]).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let id = command.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let ended = tokio::time::timeout(LIMIT, command.wait()).await.expect("it ends").unwrap();
        assert_eq!(ended.code(), Some(0), "{line}");
    }
}

#[tokio::test]
async fn a_reader_that_goes_ends_a_list_without_a_word() {
    let stage = Stage::new().await;
    let topic = stage.dlq("unknown");
    stage.create(&topic, 1).await;
    for number in 0..20 {
        let letter = Letter::new(number, "unknown", "E", &"long ".repeat(200));
        stage.produce(letter.record(&topic).value("x".repeat(10_000))).await;
    }
    for line in ["dlq list --source $ORDERS --output json", "dlq tail --source $ORDERS --since 1h --output json"] {
        let line = line.replace("$ORDERS", &stage.orders);
        let mut list = stage.command(line.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut one = [0; 1];
        list.stdout.take().unwrap().read_exact(&mut one).await.unwrap();
        let mut said = String::new();
        list.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        assert_eq!(list.wait().await.unwrap().code(), Some(0), "{line}: {said}");
        assert!(!said.contains("panicked") && !said.contains("error"), "{line}: {said}");
    }
}
