//! A replay that is interrupted while the broker does not answer.

use std::process::Stdio;
use std::time::Duration;

use bezoar::embedded::{Api, Fault};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::{sleep, timeout};

use crate::stage::{LIMIT, Stage};

#[cfg(unix)]
#[tokio::test]
async fn the_second_ctrl_c_leaves_at_once() {
    let stage = Stage::new().await;
    let Some(broker) = &stage.embedded else { return };
    stage.fill().await;
    let fault = broker.inject(Fault::on(Api::Produce).topic(&stage.orders).forever().delay(LIMIT * 2));
    let args = ["dlq", "replay", "--source", &stage.orders, "--all", "--yes"];
    let mut replay = stage.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut notes = BufReader::new(replay.stderr.take().unwrap()).lines();
    let interrupt = || {
        let id = replay.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    };
    while fault.fired() == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    interrupt();
    let note = timeout(LIMIT, notes.next_line()).await.unwrap().unwrap().unwrap();
    assert!(note.starts_with("stopping: ") && !note.starts_with("stopping: 0 "), "{note}");
    interrupt();
    let note = timeout(LIMIT, notes.next_line()).await.unwrap().unwrap().unwrap();
    assert!(note.starts_with("interrupted: what was under way is found by the next run"), "{note}");
    assert_eq!(timeout(LIMIT, replay.wait()).await.unwrap().unwrap().code(), Some(130));
}
