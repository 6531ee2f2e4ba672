use std::sync::Arc;

use bezoar::broker::security::{Security, Tls};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::broker::{Port, address, cert, settings, trusting, turned_away, visit};

fn over(tls: Tls) -> Security {
    Security::default().tls(tls)
}

#[tokio::test]
async fn a_broker_whose_authority_is_trusted_is_spoken_to() {
    let Some(address) = address(Port::Tls) else { return };
    visit(&address, over(trusting())).await.unwrap();
    let pem = std::fs::read(cert("ca.pem")).unwrap();
    visit(&address, over(Tls::new().ca_pem(pem))).await.unwrap();
    // An IPv4 address and a host name are both in the certificate.
    let by_name = address.replace("127.0.0.1", "localhost");
    visit(&by_name, over(trusting())).await.unwrap();
}

#[tokio::test]
async fn both_providers_and_both_versions_of_tls_work() {
    let Some(address) = address(Port::Tls) else { return };
    let mut providers = vec![Arc::new(rustls_rustcrypto::provider())];
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    providers.push(Arc::new(rustls_graviola::default_provider()));
    for provider in providers {
        visit(&address, over(trusting().provider(Arc::clone(&provider)))).await.unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(cert("ca.pem")).unwrap()).unwrap();
        for version in [&TLS12, &TLS13] {
            let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&[version])
                .unwrap()
                .with_root_certificates(roots.clone())
                .with_no_client_auth();
            visit(&address, over(Tls::with_config(Arc::new(config)))).await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_authority_that_is_not_trusted_is_named_as_the_cause() {
    let Some(address) = address(Port::Tls) else { return };
    for tls in [Tls::new().ca_file(cert("other-ca.pem")), Tls::new().ca_file(cert("other-ca.pem")).system_roots(false)]
    {
        let error = turned_away(&address, over(tls)).await;
        assert!(error.contains("security.tls.ca_file"), "{error}");
    }
}

#[tokio::test]
async fn an_expired_certificate_is_named_as_the_cause() {
    let Some(address) = address(Port::Expired) else { return };
    let error = turned_away(&address, over(trusting())).await;
    assert!(error.contains("expired"), "{error}");
}

#[tokio::test]
async fn a_name_that_is_not_in_the_certificate_is_named_as_the_cause() {
    let Some(address) = address(Port::Tls) else { return };
    let error = turned_away(&address, over(trusting().server_name("kafka.example"))).await;
    assert!(error.contains("another name") && error.contains("kafka.example"), "{error}");
    visit(&address, over(trusting().server_name("localhost"))).await.unwrap();
}

#[tokio::test]
async fn each_form_of_a_client_key_is_taken() {
    let Some(address) = address(Port::ClientCertificate) else { return };
    for (certificate, key) in [
        ("client.pem", "client-key.pem"),
        ("client.pem", "client-key-pkcs1.pem"),
        ("client-ec.pem", "client-ec-key.pem"),
    ] {
        let files = trusting().client_certificate_files(cert(certificate), cert(key));
        visit(&address, over(files.clone())).await.unwrap_or_else(|error| panic!("{key}: {error}"));
        let provider = Arc::new(rustls_rustcrypto::provider());
        visit(&address, over(files.provider(provider))).await.unwrap_or_else(|error| panic!("{key}: {error}"));
        let text = |name: &str| std::fs::read(cert(name)).unwrap();
        let texts = trusting().client_certificate_pem(text(certificate), text(key));
        visit(&address, over(texts)).await.unwrap();
    }
}

#[tokio::test]
async fn a_client_certificate_that_is_required_is_asked_for() {
    let Some(address) = address(Port::ClientCertificate) else { return };
    let error = turned_away(&address, over(trusting())).await;
    assert!(error.contains("requires a client certificate"), "{error}");
    let stranger = trusting().client_certificate_files(cert("stranger.pem"), cert("stranger-key.pem"));
    let error = turned_away(&address, over(stranger)).await;
    assert!(error.contains("refuses the client certificate"), "{error}");
}

#[tokio::test]
async fn plaintext_to_a_tls_port_is_named_as_the_cause() {
    for port in [Port::Tls, Port::ClientCertificate, Port::SaslTls] {
        let Some(address) = address(port) else { return };
        let error = turned_away(&address, Security::default()).await;
        assert!(error.contains("expects TLS"), "{error}");
    }
}

#[tokio::test]
async fn tls_to_a_plaintext_port_is_named_as_the_cause() {
    for port in [Port::Plaintext, Port::Sasl] {
        let Some(address) = address(port) else { return };
        let error = turned_away(&address, over(trusting())).await;
        assert!(error.contains("expects plaintext"), "{error}");
    }
}

#[tokio::test]
async fn a_broker_that_cannot_be_reached_is_worth_a_retry() {
    // Port 1 is nobody's.
    let error = visit("127.0.0.1:1", over(trusting())).await.unwrap_err();
    assert!(error.is_retriable(), "{error}");
    assert_eq!(settings("127.0.0.1:1", Security::default()).bootstrap, ["127.0.0.1:1"]);
}
