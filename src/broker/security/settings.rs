use std::path::PathBuf;

use serde::Deserialize;

use super::{Sasl, Secret, Security, Tls, Token};
use crate::policy::ConfigError;

/// Security as a configuration file writes it; [`security`](Self::security) makes a [`Security`] of it.
///
/// ```
/// let settings: bezoar::broker::security::SecuritySettings = toml::from_str(
///     r#"
///     [tls]
///     ca_file = "/etc/kafka/ca.pem"
///
///     [sasl]
///     mechanism = "SCRAM-SHA-512"
///     username = "fulfilment"
///     password_env = "KAFKA_PASSWORD"
///     "#,
/// )?;
/// let security = settings.security()?;
/// # assert!(security.tls.is_some() && security.sasl.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SecuritySettings {
    /// TLS; leaving the table out is plaintext, an empty one trusts the system's roots.
    pub tls: Option<TlsSettings>,
    /// Authentication by SASL.
    pub sasl: Option<SaslSettings>,
}

/// TLS as a configuration file writes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TlsSettings {
    /// See [`Tls::ca_file`].
    pub ca_file: Option<PathBuf>,
    /// See [`Tls::client_certificate_files`]; goes with [`client_key_file`](Self::client_key_file).
    pub client_certificate_file: Option<PathBuf>,
    /// See [`Tls::client_certificate_files`]; goes with [`client_certificate_file`](Self::client_certificate_file).
    pub client_key_file: Option<PathBuf>,
    /// See [`Tls::server_name`].
    pub server_name: Option<String>,
    /// See [`Tls::system_roots`].
    pub system_roots: Option<bool>,
}

/// Authentication by SASL as a configuration file writes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SaslSettings {
    /// The mechanism, which has no default.
    pub mechanism: SaslMechanism,
    /// The user's name, for all mechanisms but `OAUTHBEARER`.
    #[serde(default)]
    pub username: Option<String>,
    /// The password. Better kept out of the file, by one of the next two; exactly one of the three is needed, for all
    /// mechanisms but `OAUTHBEARER`.
    #[serde(default)]
    pub password: Option<Secret>,
    /// See [`Secret::file`].
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// See [`Secret::env`].
    #[serde(default)]
    pub password_env: Option<String>,
    /// For `OAUTHBEARER`: the file that holds the token, which something else keeps valid. It is read for each
    /// authentication. Tokens from elsewhere need code: [`Sasl::oauth_bearer`].
    #[serde(default)]
    pub token_file: Option<PathBuf>,
}

/// A mechanism of SASL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum SaslMechanism {
    /// [`Sasl::plain`].
    #[serde(rename = "PLAIN")]
    Plain,
    /// [`Sasl::scram_sha_256`].
    #[serde(rename = "SCRAM-SHA-256")]
    ScramSha256,
    /// [`Sasl::scram_sha_512`].
    #[serde(rename = "SCRAM-SHA-512")]
    ScramSha512,
    /// [`Sasl::oauth_bearer`].
    #[serde(rename = "OAUTHBEARER")]
    OAuthBearer,
}

impl SecuritySettings {
    /// The security that the settings describe. Whether files can be read is for [`Security::validate`] to say.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the setting which is missing, or goes with none of the others.
    pub fn security(self) -> Result<Security, ConfigError> {
        Ok(Security {
            tls: self.tls.map(TlsSettings::tls).transpose()?,
            sasl: self.sasl.map(SaslSettings::sasl).transpose()?,
        })
    }
}

impl TlsSettings {
    fn tls(self) -> Result<Tls, ConfigError> {
        let mut tls = Tls::new();
        if let Some(path) = self.ca_file {
            tls = tls.ca_file(path);
        }
        match (self.client_certificate_file, self.client_key_file) {
            (Some(certificate), Some(key)) => tls = tls.client_certificate_files(certificate, key),
            (None, None) => {}
            (Some(certificate), None) => {
                let (setting, remedy) = ("security.tls.client_certificate_file", "set client_key_file too");
                return Err(ConfigError::new(setting, certificate, "is given without its key", remedy));
            }
            (None, Some(key)) => {
                let (setting, remedy) = ("security.tls.client_key_file", "set client_certificate_file too");
                return Err(ConfigError::new(setting, key, "is given without its certificate", remedy));
            }
        }
        if let Some(name) = self.server_name {
            tls = tls.server_name(name);
        }
        if let Some(trusted) = self.system_roots {
            tls = tls.system_roots(trusted);
        }
        Ok(tls)
    }
}

impl SaslSettings {
    fn sasl(self) -> Result<Sasl, ConfigError> {
        let make: fn(String, Secret) -> Sasl = match self.mechanism {
            SaslMechanism::Plain => Sasl::plain,
            SaslMechanism::ScramSha256 => Sasl::scram_sha_256,
            SaslMechanism::ScramSha512 => Sasl::scram_sha_512,
            SaslMechanism::OAuthBearer => return self.bearer(),
        };
        if let Some(path) = self.token_file {
            let remedy = "set mechanism to \"OAUTHBEARER\", or leave it out";
            return Err(ConfigError::new("security.sasl.token_file", path, "goes with OAUTHBEARER only", remedy));
        }
        let username = self.username.ok_or_else(|| missing("username", "give the name that the broker knows"))?;
        let password = match (self.password, self.password_file, self.password_env) {
            (Some(password), None, None) => password,
            (None, Some(path), None) => Secret::file(path),
            (None, None, Some(variable)) => Secret::env(variable),
            (None, None, None) => return Err(missing("password", "set one of password, password_file, password_env")),
            _ => {
                let remedy = "keep one of password, password_file, password_env";
                return Err(ConfigError::new("security.sasl", "…", "gives the password more than once", remedy));
            }
        };
        Ok(make(username, password))
    }

    fn bearer(self) -> Result<Sasl, ConfigError> {
        let given = [
            (self.username.is_some(), "username"),
            (self.password.is_some(), "password"),
            (self.password_file.is_some(), "password_file"),
            (self.password_env.is_some(), "password_env"),
        ];
        if let Some((_, name)) = given.into_iter().find(|(given, _)| *given) {
            let remedy = "leave it out, or choose another mechanism";
            let setting = format!("security.sasl.{name}");
            return Err(ConfigError::new(setting, "…", "does not go with OAUTHBEARER, which takes a token", remedy));
        }
        let path = self.token_file.ok_or_else(|| missing("token_file", "name a file, or set the mechanism in code"))?;
        let token = Secret::file(path);
        Ok(Sasl::oauth_bearer(move || {
            let token = token.clone();
            async move {
                let reading = tokio::task::spawn_blocking(move || token.read("security.sasl.token"));
                Ok(Token::new(reading.await??))
            }
        }))
    }
}

fn missing(name: &str, remedy: &str) -> ConfigError {
    ConfigError::new(format!("security.sasl.{name}"), "", "is missing", remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Security, String> {
        let settings: SecuritySettings = toml::from_str(text).map_err(|error| error.to_string())?;
        settings.security().map_err(|error| error.to_string())
    }

    #[test]
    fn everything_can_be_written_in_a_file() {
        let security = parse(
            r#"
            [tls]
            ca_file = "ca.pem"
            client_certificate_file = "client.pem"
            client_key_file = "client-key.pem"
            server_name = "kafka.internal"
            system_roots = true
            [sasl]
            mechanism = "SCRAM-SHA-256"
            username = "alice"
            password = "secret"
            "#,
        );
        let tls = Tls::new()
            .ca_file("ca.pem")
            .client_certificate_files("client.pem", "client-key.pem")
            .server_name("kafka.internal")
            .system_roots(true);
        let sasl = Sasl::scram_sha_256("alice", "secret");
        assert_eq!(security.unwrap(), Security::default().tls(tls).sasl(sasl));
        assert_eq!(parse("").unwrap(), Security::default());
        assert_eq!(parse("[tls]").unwrap(), Security::default().tls(Tls::new()));
    }

    #[test]
    fn each_way_to_a_password_and_each_mechanism_is_understood() {
        let of = |text: &str| parse(text).unwrap().sasl.unwrap();
        let plain = "[sasl]\nmechanism = 'PLAIN'\nusername = 'a'\n";
        assert_eq!(of(&format!("{plain}password_file = 'f'")), Sasl::plain("a", Secret::file("f")));
        assert_eq!(of(&format!("{plain}password_env = 'V'")), Sasl::plain("a", Secret::env("V")));
        let scram = "[sasl]\nmechanism = 'SCRAM-SHA-512'\nusername = 'a'\npassword = 'p'";
        assert_eq!(of(scram), Sasl::scram_sha_512("a", "p"));
    }

    #[tokio::test]
    async fn a_token_is_read_from_its_file_each_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = format!("[sasl]\nmechanism = 'OAUTHBEARER'\ntoken_file = {:?}", file.path());
        let super::super::Mechanism::OAuthBearer(tokens) = parse(&text).unwrap().sasl.unwrap().mechanism else {
            panic!("another mechanism");
        };
        for token in ["one", "two"] {
            std::fs::write(file.path(), token).unwrap();
            assert_eq!(&*tokens.token().await.unwrap().value, token);
        }
    }

    #[test]
    fn mistakes_are_named() {
        let sasl = |rest: &str| parse(&format!("[sasl]\n{rest}")).unwrap_err();
        for (text, says) in [
            ("mechanism = 'PLAIN'\npassword = 'hunter2'", "security.sasl.username"),
            ("mechanism = 'PLAIN'\nusername = 'a'", "security.sasl.password"),
            ("mechanism = 'PLAIN'\nusername = 'a'\npassword = 'hunter2'\npassword_env = 'V'", "more than once"),
            ("mechanism = 'OAUTHBEARER'", "security.sasl.token_file"),
            ("mechanism = 'OAUTHBEARER'\npassword = 'hunter2'", "security.sasl.password"),
            ("mechanism = 'PLAIN'\nusername = 'a'\npassword = 'hunter2'\ntoken_file = 'f'", "security.sasl.token_file"),
            ("mechanism = 'SCRAM-SHA-1'\nusername = 'a'", "SCRAM-SHA-512"),
            ("mechanism = 'PLAIN'\npasword = 'hunter2'", "unknown field"),
        ] {
            let error = sasl(text);
            assert!(error.contains(says), "{text}: {error}");
        }
        for text in ["client_key_file = 'k'", "client_certificate_file = 'c'"] {
            let error = parse(&format!("[tls]\n{text}")).unwrap_err();
            assert!(error.starts_with("security.tls.client_"), "{error}");
        }
    }

    #[test]
    fn no_password_is_shown_by_debug() {
        let settings: SecuritySettings =
            toml::from_str("[sasl]\nmechanism = 'PLAIN'\nusername = 'a'\npassword = 'hunter2'").unwrap();
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
