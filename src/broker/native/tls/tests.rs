use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::*;

const CERTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/security/certs");

fn pem(name: &str) -> Vec<u8> {
    std::fs::read(format!("{CERTS}/{name}")).unwrap()
}

fn trusting() -> Tls {
    Tls::new().ca_pem(pem("ca.pem"))
}

fn rustcrypto() -> Arc<CryptoProvider> {
    Arc::new(rustls_rustcrypto::provider())
}

/// A server with the certificate and key in `name`, which may require client certificates.
fn server(name: &str, required: bool, version: &'static SupportedProtocolVersion) -> TlsAcceptor {
    let pem = pem(name);
    let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(&pem).unwrap();
    let builder = ServerConfig::builder_with_provider(rustcrypto()).with_protocol_versions(&[version]).unwrap();
    let builder = if required {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&self::pem("ca.pem")).unwrap()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), rustcrypto()).build().unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()))
}

/// Connects to `address`, sends four bytes and gets them back; what the failure means, if there is one.
async fn echo(tls: &Tls, server: TlsAcceptor, address: &str) -> Result<(), String> {
    let (near, far) = duplex(1 << 16);
    tokio::spawn(async move {
        // A refusal is for the client to notice.
        if let Ok(mut stream) = server.accept(far).await {
            let mut bytes = [0; 4];
            stream.read_exact(&mut bytes).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
            stream.flush().await.unwrap();
        }
    });
    let client = Arc::new(Client::new(tls).unwrap());
    let call = Call::new("testing", Duration::from_secs(60));
    let mut stream = client.secure(Box::new(near), address, &call).await.map_err(|error| error.to_string())?;
    let said = |error: io::Error| client.explain(&error, &call).map_or(format!("{error:?}"), |error| error.to_string());
    stream.write_all(b"ping").await.map_err(said)?;
    stream.flush().await.map_err(said)?;
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).await.map_err(said)?;
    assert_eq!(&bytes, b"ping");
    Ok(())
}

#[tokio::test]
async fn both_providers_speak_both_versions() {
    for version in [&TLS12, &TLS13] {
        for tls in [trusting(), trusting().provider(rustcrypto())] {
            for address in ["localhost:9093", "127.0.0.1:9093", "[::1]:9093"] {
                echo(&tls, server("server.pem", false, version), address).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn each_reason_not_to_trust_a_certificate_is_told_apart() {
    for tls in [trusting(), trusting().provider(rustcrypto())] {
        let error = echo(&tls, server("expired.pem", false, &TLS13), "localhost:1").await.unwrap_err();
        assert!(error.contains("has expired"), "{error}");
        let error = echo(&tls, server("server.pem", false, &TLS13), "kafka.example:1").await.unwrap_err();
        assert!(error.contains("another name") && error.contains("kafka.example"), "{error}");
        let named = tls.clone().server_name("localhost");
        echo(&named, server("server.pem", false, &TLS13), "kafka.example:1").await.unwrap();
        let error = echo(&tls, server("server.pem", false, &TLS13), "not a name:1").await.unwrap_err();
        assert!(error.contains("neither a host name"), "{error}");
    }
    let stranger = Tls::new().ca_pem(pem("other-ca.pem"));
    let error = echo(&stranger, server("server.pem", false, &TLS12), "localhost:1").await.unwrap_err();
    assert!(error.contains("security.tls.ca_file"), "{error}");
}

#[tokio::test]
async fn client_certificates_are_shown_missed_and_refused() {
    for version in [&TLS12, &TLS13] {
        for provider in [provider::built_in(), rustcrypto()] {
            let tls = trusting().provider(provider);
            for (certificate, key) in [
                ("client.pem", "client-key.pem"),
                ("client.pem", "client-key-pkcs1.pem"),
                ("client-ec.pem", "client-ec-key.pem"),
            ] {
                let tls = tls.clone().client_certificate_pem(pem(certificate), pem(key));
                echo(&tls, server("server.pem", true, version), "localhost:1").await.unwrap();
            }
            let error = echo(&tls, server("server.pem", true, version), "localhost:1").await.unwrap_err();
            assert!(error.contains("requires a client certificate"), "{error}");
            let stranger = tls.client_certificate_pem(pem("stranger.pem"), pem("stranger-key.pem"));
            let error = echo(&stranger, server("server.pem", true, version), "localhost:1").await.unwrap_err();
            assert!(error.contains("refuses the client certificate"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_certificate_that_was_renewed_is_taken_up_and_a_broken_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, pem("other-ca.pem")).unwrap();
    let client = Client::new(&Tls::new().ca_file(&ca)).unwrap();
    let first = client.config().unwrap();
    assert!(Arc::ptr_eq(&first, &client.config().unwrap()));
    std::fs::write(&ca, pem("ca.pem")).unwrap();
    let second = client.config().unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    for broken in [&b"half-written"[..], b""] {
        std::fs::write(&ca, broken).unwrap();
        assert!(Arc::ptr_eq(&second, &client.config().unwrap()));
    }
    std::fs::remove_file(&ca).unwrap();
    assert!(Arc::ptr_eq(&second, &client.config().unwrap()));
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let client = |certificate, key| trusting().client_certificate_pem(certificate, key);
    let given = Client::new(&trusting()).unwrap().config().unwrap();
    let encrypted = b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIC\n-----END ENCRYPTED PRIVATE KEY-----\n".to_vec();
    for (tls, says) in [
        (Tls::new().ca_file("/no/such/file"), r#"security.tls.ca_file = "/no/such/file" cannot be read"#),
        (Tls::new().ca_pem("nothing"), "security.tls.ca_pem = \"PEM text\" holds no certificate"),
        (Tls::new().system_roots(false), "security.tls.system_roots = false leaves no root"),
        (client(pem("client.pem"), pem("client.pem")), "holds no private key"),
        (client(pem("client.pem"), encrypted), "is encrypted"),
        (client(pem("client-key.pem"), pem("client-key.pem")), "holds no certificate"),
        (trusting().server_name("no name"), r#"security.tls.server_name = "no name" is neither"#),
        (Tls { authorities: trusting().authorities, ..Tls::with_config(given) }, "security.tls.config"),
    ] {
        let error = validate(&tls).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
    assert_eq!(validate(&client(pem("client.pem"), pem("client-key.pem"))), Ok(()));
}

#[tokio::test]
async fn a_key_that_the_certificate_was_not_made_for_is_refused() {
    let tls = trusting().client_certificate_pem(pem("client-ec.pem"), pem("stranger-key.pem"));
    if !is_rustcrypto(&provider::built_in()) {
        assert!(validate(&tls).unwrap_err().to_string().contains("does not go with"));
    }
    // RustCrypto's provider does not tell a key's public half, so it is for the broker to find out.
    for version in [&TLS12, &TLS13] {
        let tls = tls.clone().provider(rustcrypto());
        let error = echo(&tls, server("server.pem", true, version), "localhost:1").await.unwrap_err();
        assert!(error.contains("client_key_file"), "{error}");
    }
}

/// Whether the built-in choice fell on it, for want of a processor that graviola runs on.
fn is_rustcrypto(provider: &CryptoProvider) -> bool {
    format!("{:?}", provider.key_provider) == format!("{:?}", rustcrypto().key_provider)
}

#[test]
fn keys_are_not_shown() {
    let tls = trusting().client_certificate_pem(pem("client.pem"), pem("client-key.pem"));
    let shown = format!("{tls:?}");
    assert!(!shown.contains("BEGIN") && !shown.contains("45, 45"), "{shown}");
}

#[test]
fn hosts_are_taken_out_of_addresses() {
    for (address, expected) in [("kafka:9093", "kafka"), ("[::1]:9093", "::1"), ("10.0.0.1:1", "10.0.0.1")] {
        assert_eq!(host(address), expected);
    }
    assert!(server_name("kafka.example.").is_ok());
}
