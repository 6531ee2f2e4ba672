use std::sync::{Arc, OnceLock};

use tokio_rustls::rustls::crypto::CryptoProvider;

/// The built-in choice of cryptography: graviola where the processor has the instructions that it needs (it panics
/// elsewhere), else RustCrypto's, which runs everywhere but is younger, slower, and not audited as a whole.
pub(super) fn built_in() -> Arc<CryptoProvider> {
    static CHOICE: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    let choose = || {
        graviola().unwrap_or_else(|| {
            tracing::warn!(
                "TLS uses the alpha release of RustCrypto's provider, since this processor lacks what graviola needs; hand in another by Tls::provider"
            );
            rustls_rustcrypto::provider()
        })
    };
    Arc::clone(CHOICE.get_or_init(|| Arc::new(choose())))
}

#[cfg(target_arch = "x86_64")]
fn graviola() -> Option<CryptoProvider> {
    let runs = is_x86_feature_detected!("aes")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("adx")
        && is_x86_feature_detected!("avx")
        && is_x86_feature_detected!("avx2");
    runs.then(rustls_graviola::default_provider)
}

#[cfg(target_arch = "aarch64")]
fn graviola() -> Option<CryptoProvider> {
    use std::arch::is_aarch64_feature_detected;
    let runs = is_aarch64_feature_detected!("neon")
        && is_aarch64_feature_detected!("aes")
        && is_aarch64_feature_detected!("pmull")
        && is_aarch64_feature_detected!("sha2");
    runs.then(rustls_graviola::default_provider)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn graviola() -> Option<CryptoProvider> {
    None
}
