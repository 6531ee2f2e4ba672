use std::sync::Arc;

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::material::{Material, Text};
use super::provider;
use crate::broker::security::{Backend, Tls};
use crate::policy::ConfigError;

/// Makes the configuration of rustls.
pub(super) fn build(tls: &Tls, material: &Material) -> Result<Arc<ClientConfig>, ConfigError> {
    let provider = match &tls.backend {
        Backend::Config(config) => return given(tls, config),
        Backend::Provider(provider) => Arc::clone(provider),
        Backend::BuiltIn => provider::built_in(),
    };
    let roots = Arc::new(roots(tls, material)?);
    // Anything wrong with what the provider offers is the same for all settings.
    let unfit = |error: String| {
        let remedy = "hand in a provider with cipher suites for TLS 1.2 or 1.3";
        ConfigError::new("security.tls.provider", "CryptoProvider", format!("cannot be used ({error})"), remedy)
    };
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .build()
        .map_err(|error| unfit(error.to_string()))?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unfit(error.to_string()))?
        .with_webpki_verifier(verifier);
    let config = match (&material.certificate, &material.key) {
        (Some(certificate), Some(key)) => {
            let chain = certificates(certificate)?;
            let key_der = private_key(key, &provider)?;
            builder.with_client_auth_cert(chain, key_der).map_err(|error| {
                key.error(
                    format!("does not go with the client certificate ({error})"),
                    "give the key that it was made for",
                )
            })?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

fn given(tls: &Tls, config: &Arc<ClientConfig>) -> Result<Arc<ClientConfig>, ConfigError> {
    if tls.authorities.is_empty() && tls.client.is_none() && tls.system_roots.is_none() {
        return Ok(Arc::clone(config));
    }
    let problem = "comes with roots or certificates of its own, so others may not be given";
    let remedy = "put them into the ClientConfig, or leave it out";
    Err(ConfigError::new("security.tls.config", "ClientConfig", problem, remedy))
}

fn roots(tls: &Tls, material: &Material) -> Result<RootCertStore, ConfigError> {
    let mut roots = RootCertStore::empty();
    for authority in &material.authorities {
        for certificate in certificates(authority)? {
            roots.add(certificate).map_err(|error| {
                authority.error(format!("holds a certificate that is no root ({error})"), "give the authority's own")
            })?;
        }
    }
    if tls.system_roots.unwrap_or(material.authorities.is_empty()) {
        let found = rustls_native_certs::load_native_certs();
        let (usable, _) = roots.add_parsable_certificates(found.certs);
        if usable == 0 {
            let causes: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
            let problem = format!("finds no root certificates on this system ({})", causes.join("; "));
            let remedy = "install them (Debian: ca-certificates), or set ca_file";
            return Err(ConfigError::new("security.tls.system_roots", true, problem, remedy));
        }
    }
    if roots.is_empty() {
        let problem = "leaves no root certificate to trust";
        return Err(ConfigError::new(
            "security.tls.system_roots",
            false,
            problem,
            "set ca_file, or trust the system's",
        ));
    }
    Ok(roots)
}

fn certificates(text: &Text) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found: Result<Vec<_>, PemError> = CertificateDer::pem_slice_iter(&text.pem).collect();
    let remedy = "give certificates in PEM format (-----BEGIN CERTIFICATE-----)";
    match found {
        Ok(found) if found.is_empty() => Err(text.error("holds no certificate", remedy)),
        Ok(found) => Ok(found),
        Err(error) => Err(text.error(format!("is not PEM ({error})"), remedy)),
    }
}

fn private_key(text: &Text, provider: &CryptoProvider) -> Result<PrivateKeyDer<'static>, ConfigError> {
    let key = PrivateKeyDer::from_pem_slice(&text.pem).map_err(|error| match error {
        _ if String::from_utf8_lossy(&text.pem).contains("BEGIN ENCRYPTED PRIVATE KEY") => {
            text.error("is encrypted", "decrypt it: openssl pkcs8 -in KEY -out NEW_KEY")
        }
        error => text.error(
            format!("holds no private key ({error})"),
            "give one in PEM format: PKCS #8, PKCS #1 (RSA PRIVATE KEY) or SEC1 (EC PRIVATE KEY)",
        ),
    })?;
    provider.key_provider.load_private_key(key.clone_key()).map_err(|error| {
        text.error(format!("holds a key of a kind that cannot be used ({error})"), "give an RSA, P-256 or P-384 key")
    })?;
    Ok(key)
}
