//! Kafka's own command-line tools, run from the folder of jars that `KAFKA_LIBS` names.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

pub(crate) const CONFIGS: &str = "kafka.admin.ConfigCommand";
pub(crate) const CONSUMER: &str = "org.apache.kafka.tools.consumer.ConsoleConsumer";
pub(crate) const GROUPS: &str = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";

#[derive(Clone)]
pub(crate) struct Tools {
    libs: String,
    bootstrap: String,
}

impl Tools {
    pub(crate) fn new(libs: String, bootstrap: &str) -> Self {
        Self { libs, bootstrap: bootstrap.to_owned() }
    }

    /// The tools, where `KAFKA_LIBS` names them.
    pub(crate) fn find(bootstrap: &str) -> Option<Self> {
        Some(Self::new(std::env::var("KAFKA_LIBS").ok()?, bootstrap))
    }

    /// A tool that is to be started.
    pub(crate) fn command(&self, class: &str, words: &[&str]) -> Command {
        let mut command = Command::new("java");
        let quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error";
        command.args([quiet, "-cp", &format!("{}/*", self.libs), class, "--bootstrap-server", &self.bootstrap]);
        command.args(words).stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Runs a tool to its end and returns what it printed.
    pub(crate) async fn run(&self, class: &str, words: &[&str]) -> String {
        let output = self.command(class, words).output();
        // A JVM on a loaded machine takes its time.
        let ended = tokio::time::timeout(Duration::from_secs(180), output).await;
        let output = ended.unwrap_or_else(|_| panic!("{class} {words:?} did not end")).unwrap();
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{class} {words:?}:\n{stdout}\n{stderr}");
        stdout.into_owned()
    }
}
