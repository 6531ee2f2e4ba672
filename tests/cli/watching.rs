//! `dlq watch`.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use crate::stage::{Letter, Stage};

#[tokio::test]
async fn one_look_tells_by_the_exit_code() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    let healthy = stage.run("dlq watch --source $ORDERS --once").await;
    let rows: Vec<Vec<&str>> = healthy.ends(0).lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["TOPIC", "STATUS", "UNRESOLVED", "OLDEST"]);
    assert_eq!(rows[1][..3], [&*poison, "healthy", "1"]);
    assert_eq!(rows[2][..3], [&*validation, "healthy", "4"]);
    let warned = stage.run("dlq watch --source $ORDERS --once --warning 2 --critical 100").await;
    assert!(warned.ends(5).contains("warning"), "{}", warned.stdout);
    let critical = stage.run("dlq watch --source $ORDERS --once --warning 1 --critical 4 --output json").await;
    critical.ends(5);
    let lines = critical.json();
    assert_eq!((&lines[0]["status"], &lines[0]["category"]), (&json!("warning"), &json!("poison")));
    assert_eq!((&lines[1]["status"], &lines[1]["unresolved"]), (&json!("critical"), &json!(4)));
}

#[tokio::test]
async fn settings_that_make_no_sense_are_told() {
    let stage = Stage::new().await;
    stage.fill().await;
    stage
        .run("dlq watch --source $ORDERS --once --warning 5 --critical 5")
        .await
        .fails(2, "--critical = 5 is not above --warning (5)");
    stage.run("dlq watch --source $ORDERS --template slack").await.fails(2, "--webhook");
    stage.run("dlq watch --source $ORDERS --template pagerduty").await.fails(2, "BEZOAR_ROUTING_KEY");
    stage.run("dlq watch --source $ORDERS --webhook nonsense").await.fails(2, "--webhook = ");
    stage.run("dlq watch --source $ORDERS --tag nonsense").await.fails(2, "NAME=VALUE");
    stage.run("dlq watch --source $ORDERS --warning 0").await.fails(2, "--warning = 0");
    stage.run("dlq watch --source nothing-here --once").await.fails(4, "nothing-here.dlq");
}

/// Takes one post and returns its body.
async fn post(listener: &TcpListener) -> Value {
    let (stream, _) = listener.accept().await.unwrap();
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[cfg(unix)]
#[tokio::test]
async fn alerts_are_shown_and_posted_until_ctrl_c() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let args =
        ["dlq", "watch", &validation, "--warning", "5", "--critical", "100", "--interval", "50ms", "--output", "json"];
    let mut command = stage.command(args);
    command.args(["--tag", "environment=test"]).env("BEZOAR_WEBHOOK", &url);
    let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut notes = BufReader::new(watch.stderr.take().unwrap()).lines();
    assert_eq!(notes.next_line().await.unwrap().unwrap(), format!("watching {validation}; Ctrl-C ends it"));
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = async || serde_json::from_str::<Value>(&lines.next_line().await.unwrap().unwrap()).unwrap();
    let first = next().await;
    assert_eq!(
        (&first["kind"], &first["status"], &first["unresolved"]),
        (&json!("health"), &json!("healthy"), &json!(4))
    );
    stage.produce(Letter::new(9, "validation", "E", "m").record(&validation)).await;
    let alert = loop {
        let news = next().await;
        if news["kind"] == "alert" {
            break news;
        }
    };
    assert_eq!(
        (&alert["state"], &alert["severity"], &alert["tags"]["topic"]),
        (&json!("firing"), &json!("warning"), &json!(validation))
    );
    assert!(alert["message"].as_str().unwrap().starts_with("depth is 5, threshold is 5"), "{alert}");
    let posted = post(&listener).await;
    assert_eq!((&posted["title"], &posted["key"]), (&alert["title"], &alert["key"]));
    assert_eq!(posted["tags"]["environment"], "test");

    let id = watch.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    while lines.next_line().await.unwrap().is_some() {}
    assert_eq!(notes.next_line().await.unwrap(), None);
    assert_eq!(watch.wait().await.unwrap().code(), Some(0));
}

#[cfg(unix)]
#[tokio::test]
async fn a_webhook_that_cannot_be_reached_is_told() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    let args =
        ["dlq", "watch", &validation, "--warning", "1", "--interval", "50ms", "--webhook", "http://127.0.0.1:1/"];
    let mut watch = stage.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut notes = BufReader::new(watch.stderr.take().unwrap()).lines();
    let told = loop {
        let line = notes.next_line().await.unwrap().expect("it goes on");
        if line.contains("WARN") {
            break line;
        }
    };
    assert!(told.contains("an alert could not be passed on") && told.contains("127.0.0.1"), "{told}");
    assert!(!told.contains('\u{1b}'), "{told:?}");
    watch.kill().await.unwrap();
}
