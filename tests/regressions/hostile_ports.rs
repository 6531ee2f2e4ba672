//! Ports that are no brokers: they close, babble or say nothing, before and in the middle of a handshake.

use std::time::Duration;

use bezoar::broker::security::{Sasl, Security, Tls, Token};
use bezoar::broker::{BrokerError, ConnectionSettings, native};
use bezoar::embedded::Broker;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Manner {
    Closes,
    ClosesWhenAsked,
    Babbles,
    SaysNothing,
    /// Reads nothing either.
    IsStopped,
    Trickles,
}

async fn port(manner: Manner) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut asked = [0; 64];
                if manner != Manner::Closes && manner != Manner::IsStopped {
                    let _ = stream.read(&mut asked).await;
                }
                match manner {
                    Manner::Closes | Manner::ClosesWhenAsked => {}
                    Manner::Babbles => {
                        let noise: Vec<u8> = (0..4_096).map(|_| rand::random()).collect();
                        let _ = stream.write_all(&noise).await;
                    }
                    Manner::SaysNothing | Manner::IsStopped => std::future::pending().await,
                    Manner::Trickles => {
                        // An answer of 64 KiB, a byte at a time.
                        let _ = stream.write_all(&[0, 1, 0, 0]).await;
                        while stream.write_all(&[0]).await.is_ok() {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                    }
                }
            });
        }
    });
    address
}

fn security(protection: &str) -> Security {
    let ca = include_str!("../security/certs/ca.pem");
    match protection {
        "sasl" => Security::default().sasl(Sasl::plain("alice", "alice-secret")),
        "tls" => Security::default().tls(Tls::new().ca_pem(ca)),
        _ => Security::default(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn token_providers_that_fail_panic_or_hang_end_in_an_error_in_time() {
    let broker = Broker::start().await.unwrap();
    let failing = Sasl::oauth_bearer(|| async { Err::<Token, _>("no token today".into()) });
    let panicking = Sasl::oauth_bearer(|| async { panic!("the provider") });
    let hanging = Sasl::oauth_bearer(std::future::pending);
    for (sasl, told) in
        [(failing, "no token today"), (panicking, "it panicked"), (hanging, "no usable connection within")]
    {
        let mut settings = ConnectionSettings::new([broker.bootstrap()]);
        settings.connect_timeout = Duration::from_millis(500);
        settings.security = Security::default().sasl(sasl);
        let connecting = tokio::time::timeout(Duration::from_secs(60), native::connect(settings));
        let error = connecting.await.expect("connecting ends").expect_err("there is no token").to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_broker_ends_in_an_error_in_time() {
    let all = [
        Manner::Closes,
        Manner::ClosesWhenAsked,
        Manner::Babbles,
        Manner::SaysNothing,
        Manner::IsStopped,
        Manner::Trickles,
    ];
    for manner in all {
        for protection in ["none", "sasl", "tls"] {
            let address = port(manner).await;
            let mut settings = ConnectionSettings::new([&address]);
            settings.connect_timeout = Duration::from_millis(500);
            settings.request_timeout = Duration::from_secs(2);
            settings.security = security(protection);
            let connecting = tokio::time::timeout(Duration::from_secs(60), native::connect(settings));
            let result = connecting.await.unwrap_or_else(|_| panic!("{manner:?} with {protection} hangs"));
            let error = result.expect_err("no broker there");
            let told = matches!(
                error,
                BrokerError::Unreachable { .. } | BrokerError::Tls { .. } | BrokerError::Malformed { .. }
            );
            assert!(told && error.to_string().len() < 2_000, "{manner:?} with {protection}: {error:?}");
        }
    }
}
