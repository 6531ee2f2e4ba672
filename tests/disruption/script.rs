//! Brokers that a test starts and ends by the project's scripts.

use std::process::{Command, Stdio};

/// Tests that start brokers use so much memory and time that only one runs at a time.
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The first port for a test, if the tests are asked for.
fn port(offset: u16) -> Option<u16> {
    let Ok(base) = std::env::var("KAFKA_DISRUPT_PORT") else {
        println!("skipped: KAFKA_DISRUPT_PORT names no port from which brokers may be started");
        return None;
    };
    Some(base.parse::<u16>().expect("KAFKA_DISRUPT_PORT is a port") + offset)
}

/// Runs a script of the project and returns what it prints, trimmed.
async fn run(script: &'static str, words: Vec<String>) -> String {
    tokio::task::spawn_blocking(move || {
        let path = format!("{}/scripts/{script}", env!("CARGO_MANIFEST_DIR"));
        let output = Command::new(path).args(&words).stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{script} {}: {told}", words.join(" "));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    })
    .await
    .unwrap()
}

/// One broker.
pub(crate) struct Single {
    port: u16,
    bootstrap: String,
    _turn: tokio::sync::MutexGuard<'static, ()>,
}

impl Single {
    pub(crate) async fn start(offset: u16) -> Option<Self> {
        let port = port(offset)?;
        let turn = ONE_AT_A_TIME.lock().await;
        run("kafka", vec!["wipe".to_owned(), port.to_string()]).await;
        let bootstrap = run("kafka", vec!["start".to_owned(), port.to_string()]).await;
        Some(Self { port, bootstrap, _turn: turn })
    }

    pub(crate) fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    pub(crate) async fn kill(&self) {
        self.command("kill").await;
    }

    pub(crate) async fn start_again(&self) {
        self.command("start").await;
    }

    pub(crate) async fn wipe(&self) {
        self.command("wipe").await;
    }

    async fn command(&self, command: &str) {
        run("kafka", vec![command.to_owned(), self.port.to_string()]).await;
    }
}

/// Three brokers.
pub(crate) struct Cluster {
    port: u16,
    bootstrap: String,
    _turn: tokio::sync::MutexGuard<'static, ()>,
}

impl Cluster {
    pub(crate) async fn start(offset: u16) -> Option<Self> {
        let port = port(offset)?;
        let turn = ONE_AT_A_TIME.lock().await;
        run("kafka-cluster", vec!["wipe".to_owned(), port.to_string()]).await;
        let bootstrap = run("kafka-cluster", vec!["start".to_owned(), port.to_string()]).await;
        Some(Self { port, bootstrap, _turn: turn })
    }

    pub(crate) fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    pub(crate) async fn elect(&self, topic: &str, partition: i32, leader: u8) {
        // Any of the three may be asked; the first may be the one that is down.
        let words = ["elect", topic, &partition.to_string(), &leader.to_string(), &self.port.to_string()];
        run("kafka-cluster", words.map(str::to_owned).to_vec()).await;
    }

    pub(crate) async fn stop(&self, node: u8) {
        self.command("stop-node", node).await;
    }

    pub(crate) async fn kill(&self, node: u8) {
        self.command("kill-node", node).await;
    }

    pub(crate) async fn start_again(&self, node: u8) {
        self.command("start-node", node).await;
    }

    pub(crate) async fn wipe(&self) {
        run("kafka-cluster", vec!["wipe".to_owned(), self.port.to_string()]).await;
    }

    async fn command(&self, command: &str, node: u8) {
        run("kafka-cluster", vec![command.to_owned(), node.to_string(), self.port.to_string()]).await;
    }
}
