use std::path::PathBuf;
use std::time::Duration;

use bezoar::broker::security::{Security, Tls};
use bezoar::broker::{Admin, BrokerError, ConnectionSettings, native};

/// A listener of the broker, by how far its port is from the first.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Port {
    Plaintext = 0,
    Tls = 1,
    ClientCertificate = 2,
    Sasl = 3,
    SaslTls = 4,
    ShortSessions = 5,
    Expired = 6,
}

/// The address of a listener; `None`, and a line that says so, where no broker is given.
pub(crate) fn address(port: Port) -> Option<String> {
    let Ok(bootstrap) = std::env::var("KAFKA_SECURITY_BOOTSTRAP") else {
        eprintln!("skipped: KAFKA_SECURITY_BOOTSTRAP is not set");
        return None;
    };
    let (host, first) = bootstrap.rsplit_once(':').expect("KAFKA_SECURITY_BOOTSTRAP is host:port");
    let first: u16 = first.parse().expect("KAFKA_SECURITY_BOOTSTRAP is host:port");
    Some(format!("{host}:{}", first + port as u16))
}

/// A file of `certs`.
pub(crate) fn cert(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/security/certs").join(name)
}

pub(crate) fn trusting() -> Tls {
    Tls::new().ca_file(cert("ca.pem"))
}

pub(crate) fn settings(address: &str, security: Security) -> ConnectionSettings {
    let mut settings = ConnectionSettings::new([address]);
    settings.security = security;
    settings.connect_timeout = Duration::from_secs(60);
    settings.request_timeout = Duration::from_secs(60);
    settings
}

/// Connects and asks for something that only those may who are let in.
pub(crate) async fn visit(address: &str, security: Security) -> Result<(), BrokerError> {
    let client = native::connect(settings(address, security)).await?;
    client.topics(vec!["no-such-topic".to_owned()]).await.map(drop)
}

/// Is turned away, for a reason that retrying does not help; returns what is said.
pub(crate) async fn turned_away(address: &str, security: Security) -> String {
    let error = visit(address, security).await.expect_err("was let in");
    assert!(!error.is_retriable(), "counts as retriable: {error}");
    let text = error.to_string();
    assert!(!text.contains("secret"), "shows a password: {text}");
    println!("{text}");
    text
}
