//! Where a trial's broker is: in this process; a real one that `KAFKA_BOOTSTRAP` names; or a real one of the trial's own, which it
//! may kill, on the port that `KAFKA_DISRUPT_PORT` names.

use std::process::Stdio;
use std::time::Duration;

use bezoar::embedded::Broker;
use tokio::process::Command;

use crate::tools::{CONFIGS, Tools};

/// How often members of KIP-848 send heartbeats.
const HEARTBEAT: Duration = Duration::from_millis(300);

pub(crate) enum Place {
    Embedded(Broker),
    Given { bootstrap: String, tools: Option<Tools> },
    Own { port: u16, bootstrap: String, tools: Tools },
}

impl Place {
    /// One of the trial's own where the environment names a port for it, else as [`find`](Self::find).
    pub(crate) async fn find_own(session: Duration) -> Self {
        let Ok(port) = std::env::var("KAFKA_DISRUPT_PORT") else { return Self::find(session).await };
        let port = port.parse().expect("KAFKA_DISRUPT_PORT is a port");
        script("kafka", &["wipe", &format!("{port}")]).await;
        let bootstrap = script("kafka", &["start", &format!("{port}")]).await;
        let tools = Tools::new(script("kafka", &["libs"]).await, &bootstrap);
        Self::Own { port, bootstrap, tools }
    }

    /// The one that the environment names, else an embedded one. `session` is what members of KIP-848 get there.
    pub(crate) async fn find(session: Duration) -> Self {
        let Ok(bootstrap) = std::env::var("KAFKA_BOOTSTRAP") else { return Self::embedded(session).await };
        let tools = Tools::find(&bootstrap);
        Self::Given { bootstrap, tools }
    }

    async fn embedded(session: Duration) -> Self {
        let builder = Broker::builder().consumer_session_timeout(session).consumer_heartbeat_interval(HEARTBEAT);
        Self::Embedded(builder.start().await.unwrap())
    }

    pub(crate) fn bootstrap(&self) -> String {
        match self {
            Self::Embedded(broker) => broker.bootstrap(),
            Self::Given { bootstrap, .. } | Self::Own { bootstrap, .. } => bootstrap.clone(),
        }
    }

    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self, Self::Embedded(_))
    }

    /// Gives a group of KIP-848 this session timeout. False where that is not possible: the broker is a real one, and Kafka's
    /// tools are not there.
    pub(crate) async fn set_session(&self, group: &str, session: Duration) -> bool {
        let tools = match self {
            Self::Embedded(_) => return true,
            Self::Given { tools, .. } => tools.as_ref(),
            Self::Own { tools, .. } => Some(tools),
        };
        let Some(tools) = tools else {
            println!("skipped: KAFKA_LIBS is not set, and Kafka's tools are needed to set a group's session timeout");
            return false;
        };
        let (session, heartbeat) = (session.as_millis(), HEARTBEAT.as_millis());
        let settings = format!("consumer.session.timeout.ms={session},consumer.heartbeat.interval.ms={heartbeat}");
        let alter = ["--alter", "--entity-type", "groups", "--entity-name", group, "--add-config", &settings];
        tools.run(CONFIGS, &alter).await;
        true
    }

    /// Whether the broker may be taken down.
    pub(crate) fn is_ours(&self) -> bool {
        !matches!(self, Self::Given { .. })
    }

    /// Takes the broker down without a warning, and starts it again on what it had.
    pub(crate) async fn crash(&self) {
        match self {
            Self::Embedded(broker) => {
                broker.go_down().await;
                tokio::time::sleep(Duration::from_millis(500)).await;
                broker.come_back().await.unwrap();
            }
            Self::Given { .. } => unreachable!("a broker that others use is not taken down"),
            Self::Own { port, .. } => {
                script("kafka", &["kill", &format!("{port}")]).await;
                script("kafka", &["start", &format!("{port}")]).await;
            }
        }
    }

    /// Removes a broker of the trial's own.
    pub(crate) async fn wipe(&self) {
        if let Self::Own { port, .. } = self {
            script("kafka", &["wipe", &format!("{port}")]).await;
        }
    }
}

/// Runs a script of the project and returns what it prints, trimmed.
async fn script(name: &str, words: &[&str]) -> String {
    let path = format!("{}/scripts/{name}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(path).args(words).stdin(Stdio::null()).output().await.unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {words:?}: {told}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
