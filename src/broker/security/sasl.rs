use std::sync::Arc;

use super::{Secret, TokenProvider, Tokens};
use crate::policy::ConfigError;

/// Who this client says it is, by SASL.
///
/// Usernames and passwords go to the broker as they are, in UTF-8: like Kafka itself, and unlike what RFC 5802 asks for,
/// nothing is normalized (SASLprep), since the broker's tools store passwords unnormalized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sasl {
    pub(crate) mechanism: Mechanism,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mechanism {
    Plain { username: String, password: Secret },
    Scram { hash: ScramHash, username: String, password: Secret },
    OAuthBearer(Tokens),
}

/// The hash function of SCRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScramHash {
    Sha256,
    Sha512,
}

impl Sasl {
    /// `PLAIN`: the password itself is sent, so use TLS.
    pub fn plain(username: impl Into<String>, password: impl Into<Secret>) -> Self {
        Self { mechanism: Mechanism::Plain { username: username.into(), password: password.into() } }
    }

    /// `SCRAM-SHA-256`: the password is proven without being sent, and the broker proves that it knows it too.
    pub fn scram_sha_256(username: impl Into<String>, password: impl Into<Secret>) -> Self {
        Self::scram(ScramHash::Sha256, username.into(), password.into())
    }

    /// `SCRAM-SHA-512`; see [`scram_sha_256`](Self::scram_sha_256).
    pub fn scram_sha_512(username: impl Into<String>, password: impl Into<Secret>) -> Self {
        Self::scram(ScramHash::Sha512, username.into(), password.into())
    }

    fn scram(hash: ScramHash, username: String, password: Secret) -> Self {
        Self { mechanism: Mechanism::Scram { hash, username, password } }
    }

    /// `OAUTHBEARER`: tokens come from `provider`, which is asked for a new one when a connection authenticates and the
    /// last one is used up. The token itself is sent, so use TLS.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use bezoar::broker::security::{Sasl, Token};
    ///
    /// # async fn ask_the_issuer() -> std::io::Result<String> { Ok("eyJ0".to_owned()) }
    /// let sasl = Sasl::oauth_bearer(|| async {
    ///     let token = ask_the_issuer().await?;
    ///     Ok(Token::new(token).valid_for(Duration::from_secs(3600)))
    /// });
    /// ```
    pub fn oauth_bearer(provider: impl TokenProvider) -> Self {
        Self { mechanism: Mechanism::OAuthBearer(Tokens::new(Arc::new(provider))) }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        match &self.mechanism {
            Mechanism::Plain { username, password } | Mechanism::Scram { username, password, .. } => {
                if username.is_empty() || username.contains('\0') {
                    let remedy = "give the name that the broker knows";
                    let problem = "is empty or holds a NUL character";
                    return Err(ConfigError::new("security.sasl.username", username, problem, remedy));
                }
                password.read("security.sasl.password").map(drop)
            }
            Mechanism::OAuthBearer(_) => Ok(()),
        }
    }
}

impl Mechanism {
    /// The name in the protocol.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Plain { .. } => "PLAIN",
            Self::Scram { hash: ScramHash::Sha256, .. } => "SCRAM-SHA-256",
            Self::Scram { hash: ScramHash::Sha512, .. } => "SCRAM-SHA-512",
            Self::OAuthBearer(_) => "OAUTHBEARER",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_passwords_are_checked() {
        let error = Sasl::plain("", "secret").validate().unwrap_err().to_string();
        assert!(error.starts_with(r#"security.sasl.username = "" is empty"#), "{error}");
        let error = Sasl::scram_sha_256("alice", "").validate().unwrap_err().to_string();
        assert!(error.starts_with(r#"security.sasl.password = "" is empty"#), "{error}");
        assert_eq!(Sasl::scram_sha_512("alice", "secret").validate(), Ok(()));
    }

    #[test]
    fn no_password_is_shown() {
        let shown = format!("{:?}", Sasl::plain("alice", "hunter2"));
        assert!(shown.contains("alice") && !shown.contains("hunter2"), "{shown}");
    }
}
