use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bezoar::broker::security::{Sasl, Security, Token};
use bezoar::broker::{Admin, native};

use crate::broker::{Port, address, settings, trusting, turned_away, visit};

fn by(sasl: Sasl) -> Security {
    Security::default().sasl(sasl)
}

/// A token that the broker's test validator takes, for a lifetime from now.
fn unsecured(subject: &str, lifetime: Duration) -> Token {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let expires = now + lifetime.as_secs();
    let claims = format!(r#"{{"sub":"{subject}","iat":{now},"exp":{expires},"scope":[]}}"#);
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    Token::new(format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode(&claims)))
}

fn bearer() -> Sasl {
    Sasl::oauth_bearer(|| async { Ok(unsecured("alice", Duration::from_secs(600))) })
}

fn scram_sha_256() -> Sasl {
    Sasl::scram_sha_256("alice", "alice-secret")
}

fn of_alice() -> [Sasl; 4] {
    [Sasl::plain("alice", "alice-secret"), Sasl::scram_sha_512("alice", "alice-secret"), bearer(), scram_sha_256()]
}

#[tokio::test]
async fn each_mechanism_lets_in() {
    let Some(plaintext) = address(Port::Sasl) else { return };
    let over_tls = address(Port::SaslTls).unwrap();
    for sasl in of_alice() {
        visit(&plaintext, by(sasl.clone())).await.unwrap_or_else(|error| panic!("{sasl:?}: {error}"));
        if sasl != scram_sha_256() {
            visit(&over_tls, by(sasl).tls(trusting())).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_mechanism_that_is_not_offered_is_told_with_those_that_are() {
    let Some(address) = address(Port::SaslTls) else { return };
    let error = turned_away(&address, by(scram_sha_256()).tls(trusting())).await;
    assert!(error.contains("does not offer SCRAM-SHA-256") && error.contains("OAUTHBEARER"), "{error}");
}

#[tokio::test]
async fn wrong_passwords_and_unknown_users_are_named_as_the_cause() {
    let Some(address) = address(Port::Sasl) else { return };
    for sasl in [
        Sasl::plain("alice", "wrong-secret"),
        Sasl::scram_sha_256("alice", "wrong-secret"),
        Sasl::scram_sha_512("alice", "wrong-secret"),
        Sasl::scram_sha_512("nobody", "wrong-secret"),
    ] {
        let error = turned_away(&address, by(sasl)).await;
        assert!(error.contains("wrong username or password"), "{error}");
    }
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_named_as_the_cause() {
    let Some(address) = address(Port::Sasl) else { return };
    let error = turned_away(&address, by(Sasl::oauth_bearer(|| async { Ok(Token::new("not-a-jwt")) }))).await;
    assert!(error.contains("the token is not accepted"), "{error}");
}

#[tokio::test]
async fn a_provider_of_tokens_that_fails_is_worth_a_retry() {
    let Some(address) = address(Port::Sasl) else { return };
    let failing = Sasl::oauth_bearer(|| async { Err("the issuer is down".into()) });
    let error = visit(&address, by(failing)).await.unwrap_err();
    assert!(error.is_retriable() && error.to_string().contains("the issuer is down"), "{error}");
}

#[tokio::test]
async fn sasl_that_is_missing_or_too_much_is_named_as_the_cause() {
    let Some(with) = address(Port::Sasl) else { return };
    let error = turned_away(&with, Security::default()).await;
    assert!(error.contains("wants SASL") && error.contains("SCRAM-SHA-512"), "{error}");
    let over_tls = address(Port::SaslTls).unwrap();
    let error = turned_away(&over_tls, Security::default().tls(trusting())).await;
    assert!(error.contains("wants SASL"), "{error}");
    let without = address(Port::Plaintext).unwrap();
    let error = turned_away(&without, by(Sasl::plain("alice", "alice-secret"))).await;
    assert!(error.contains("wants no SASL"), "{error}");
}

#[tokio::test]
async fn a_session_is_renewed_before_it_ends_under_load_and_after_a_pause() {
    let Some(address) = address(Port::ShortSessions) else { return };
    for sasl in of_alice() {
        let client = native::connect(settings(&address, by(sasl))).await.unwrap();
        let done = AtomicU32::new(0);
        let load = |pause: Duration, rounds: u32| {
            let (client, done) = (client.clone(), &done);
            async move {
                for _ in 0..rounds {
                    client.topics(vec!["no-such-topic".to_owned()]).await.unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(pause).await;
                }
            }
        };
        // Over two sessions of three seconds, requests side by side; then a pause longer than a session.
        tokio::join!(
            load(Duration::from_millis(5), 1_000),
            load(Duration::from_millis(5), 1_000),
            load(Duration::from_millis(3_500), 3),
        );
        assert_eq!(done.load(Ordering::Relaxed), 2_003);
    }
}

#[tokio::test]
async fn a_session_that_cannot_be_renewed_ends_with_the_cause() {
    let Some(address) = address(Port::ShortSessions) else { return };
    let calls = Arc::new(AtomicU32::new(0));
    let provider = {
        let calls = Arc::clone(&calls);
        move || {
            let first = calls.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                let token = if first { unsecured("alice", Duration::from_secs(600)) } else { Token::new("revoked") };
                Ok(token)
            }
        }
    };
    let client = native::connect(settings(&address, by(Sasl::oauth_bearer(provider)))).await.unwrap();
    let error = loop {
        match client.topics(vec!["no-such-topic".to_owned()]).await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("the token is not accepted"), "{error}");
    assert!(calls.load(Ordering::Relaxed) >= 2);
}
