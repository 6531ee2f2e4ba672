//! Commands that need no broker.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::stage::{bezoar, plain};

#[tokio::test]
async fn help_and_version_are_on_standard_output() {
    let help = plain("--help").await;
    let text = help.ends(0);
    for says in ["Exit codes:", "Examples:", "BEZOAR_BOOTSTRAP", "--sasl-mechanism", "completions"] {
        assert!(text.contains(says), "{says}: {text}");
    }
    assert!(!text.contains("jq-worker"), "{text}");
    assert!(plain("--version").await.ends(0).starts_with("bezoar "));
    for command in [
        "dlq list",
        "dlq show",
        "dlq groups",
        "dlq replay",
        "dlq discard",
        "dlq stats",
        "dlq tail",
        "topics",
        "lag",
        "broker",
    ] {
        let help = plain(&format!("{command} --help")).await;
        assert!(help.ends(0).contains("Examples:"), "{command}");
    }
}

#[tokio::test]
async fn a_command_line_that_makes_no_sense_says_what_would() {
    plain("").await.fails(2, "Usage: bezoar");
    plain("dlq lst").await.fails(2, "list");
    plain("dlq list --bootstrap localhost:1").await.fails(2, "--source");
    plain("dlq list orders.dlq --category poisson").await.fails(2, "possible values: validation, transient");
    plain("dlq list orders.dlq --since yesterday").await.fails(2, "2026-01-31T08:00:00Z");
    plain("dlq show orders.dlq").await.fails(2, "TOPIC/PARTITION/OFFSET");
    plain("lag").await.fails(2, "<GROUP>");
    // Before any broker is asked for.
    plain("dlq list orders.dlq --since 1h --until 2h").await.fails(2, "--until");
    plain("dlq discard orders.dlq --since 1h --until 2h --reason r --yes").await.fails(2, "--until");
}

#[tokio::test]
async fn numbers_and_the_like_say_what_is_expected() {
    for (line, says) in [
        ("dlq list orders.dlq --limit x", "a whole number"),
        ("dlq groups orders.dlq --limit=-1", "a whole number"),
        ("dlq tail orders.dlq --limit 1.5", "a whole number"),
        ("dlq list orders.dlq --source-partition p", "a whole number"),
        ("dlq list orders.dlq --key-base64 !", "base64"),
        ("dlq watch orders.dlq --warning many", "a whole number"),
        ("dlq replay orders.dlq --in-flight 0", "write 1 or more"),
        ("dlq replay orders.dlq --rate fast", "from 1 on"),
        ("broker --port http", "a whole number"),
        ("broker --port 65536", "a smaller number"),
        ("broker --listen here", "an IP address"),
    ] {
        plain(line).await.fails(2, says);
    }
}

#[tokio::test]
async fn completions_are_there_for_all_shells() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = plain(&format!("completions {shell}")).await;
        let text = script.ends(0);
        assert!(text.contains("fingerprint") && text.len() > 1_000, "{shell}");
        assert!(shell == "elvish" || shell == "powershell" || text.contains("dependency"), "{shell}");
    }
    plain("completions tcsh").await.fails(2, "bash");
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_failure() {
    for command in ["completions zsh", "--help"] {
        let mut process = bezoar(command.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Closed before anything is written, or soon after.
        drop(process.stdout.take());
        let mut said = String::new();
        process.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        assert_eq!((process.wait().await.unwrap().code(), said.as_str()), (Some(0), ""), "{command}");
    }
}

#[tokio::test]
async fn the_broker_runs_until_it_is_interrupted() {
    let args = ["broker", "--port", "0", "--topic", "orders:3", "--topic", "orders.dlq"];
    let mut broker = bezoar(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(broker.stdout.take().unwrap()).lines();
    let first = lines.next_line().await.unwrap().unwrap();
    assert!(first.starts_with("broker in memory on 127.0.0.1:") && first.contains("gone at the end"), "{first}");
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "topics: orders, orders.dlq");
    let address = first.split_whitespace().nth(4).unwrap().trim_end_matches(':').to_owned();
    let topics = plain(&format!("topics --bootstrap {address}")).await;
    let rows: Vec<Vec<&str>> = topics.ends(0).lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, [["TOPIC", "PARTITIONS", "RECORDS"], ["orders", "3", "0"], ["orders.dlq", "1", "0"]]);
    let again = plain(&format!("broker --port {}", address.rsplit_once(':').unwrap().1)).await;
    again.fails(1, "choose another port with --port");
    assert_eq!(again.stderr.matches("choose another port").count(), 1, "{}", again.stderr);
    #[cfg(unix)]
    {
        let id = broker.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let mut said = String::new();
        broker.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        assert_eq!((broker.wait().await.unwrap().code(), said.as_str()), (Some(0), ""));
    }
}

#[tokio::test]
async fn a_topic_for_the_broker_must_be_one() {
    plain("broker --port 0 --topic orders:0").await.fails(2, "NAME:3");
    plain("broker --port 0 --topic a/b").await.fails(2, "topic name");
}
