use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::broker::security::{SaslMechanism, SaslSettings, Security, SecuritySettings};
use crate::cli::exit::CliError;

/// TLS and SASL by flags and environment variables. No flag takes a password: command lines are seen by everybody on the machine.
#[derive(Debug, Default, Args)]
pub(super) struct SecurityArgs {
    /// Encrypt the connection by TLS, trusting the system's authorities
    #[arg(long, global = true, env = "BEZOAR_TLS", hide_short_help = true)]
    tls: bool,

    /// Encrypt by TLS, trusting the certificates in this PEM file
    #[arg(long, global = true, env = "BEZOAR_TLS_CA_FILE", value_name = "FILE", hide_short_help = true)]
    tls_ca_file: Option<PathBuf>,

    /// The client's certificate, a PEM file; goes with --tls-key-file
    #[arg(long, global = true, env = "BEZOAR_TLS_CERTIFICATE_FILE", value_name = "FILE", hide_short_help = true)]
    tls_certificate_file: Option<PathBuf>,

    /// The key of the client's certificate, a PEM file
    #[arg(long, global = true, env = "BEZOAR_TLS_KEY_FILE", value_name = "FILE", hide_short_help = true)]
    tls_key_file: Option<PathBuf>,

    /// The name that the broker's certificate is for, where it is not the address's
    #[arg(long, global = true, env = "BEZOAR_TLS_SERVER_NAME", value_name = "NAME", hide_short_help = true)]
    tls_server_name: Option<String>,

    /// Authenticate by SASL, with this mechanism
    #[arg(long, global = true, env = "BEZOAR_SASL_MECHANISM", value_name = "MECHANISM", hide_short_help = true)]
    #[arg(ignore_case = true)]
    sasl_mechanism: Option<MechanismArg>,

    /// The user's name for SASL
    #[arg(long, global = true, env = "BEZOAR_SASL_USERNAME", value_name = "NAME", hide_short_help = true)]
    sasl_username: Option<String>,

    /// The file that holds the password for SASL
    #[arg(long, global = true, env = "BEZOAR_SASL_PASSWORD_FILE", value_name = "FILE", hide_short_help = true)]
    sasl_password_file: Option<PathBuf>,

    /// The environment variable that holds the password for SASL [default: BEZOAR_SASL_PASSWORD, if it is set]
    #[arg(long, global = true, value_name = "VARIABLE", hide_short_help = true)]
    #[arg(conflicts_with = "sasl_password_file")]
    sasl_password_env: Option<String>,

    /// The file that holds the token for OAUTHBEARER
    #[arg(long, global = true, env = "BEZOAR_SASL_TOKEN_FILE", value_name = "FILE", hide_short_help = true)]
    sasl_token_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MechanismArg {
    #[value(name = "PLAIN")]
    Plain,
    #[value(name = "SCRAM-SHA-256")]
    ScramSha256,
    #[value(name = "SCRAM-SHA-512")]
    ScramSha512,
    #[value(name = "OAUTHBEARER")]
    OAuthBearer,
}

impl From<MechanismArg> for SaslMechanism {
    fn from(mechanism: MechanismArg) -> Self {
        match mechanism {
            MechanismArg::Plain => Self::Plain,
            MechanismArg::ScramSha256 => Self::ScramSha256,
            MechanismArg::ScramSha512 => Self::ScramSha512,
            MechanismArg::OAuthBearer => Self::OAuthBearer,
        }
    }
}

/// Used for the password where none is given otherwise.
const PASSWORD_VARIABLE: &str = "BEZOAR_SASL_PASSWORD";

impl SecurityArgs {
    /// What is given here in place of what `file` says of the same.
    pub(super) fn over(&self, file: SecuritySettings) -> Result<Security, CliError> {
        let password_is_set = std::env::var_os(PASSWORD_VARIABLE).is_some();
        Ok(self.merge(file, password_is_set)?.security()?)
    }

    fn merge(&self, mut settings: SecuritySettings, password_is_set: bool) -> Result<SecuritySettings, CliError> {
        self.merge_tls(&mut settings);
        self.merge_sasl(&mut settings, password_is_set)?;
        Ok(settings)
    }

    fn merge_tls(&self, settings: &mut SecuritySettings) {
        let files = [&self.tls_ca_file, &self.tls_certificate_file, &self.tls_key_file];
        if !self.tls && self.tls_server_name.is_none() && files.iter().all(|file| file.is_none()) {
            return;
        }
        let tls = settings.tls.get_or_insert_default();
        replace(&mut tls.ca_file, &self.tls_ca_file);
        replace(&mut tls.client_certificate_file, &self.tls_certificate_file);
        replace(&mut tls.client_key_file, &self.tls_key_file);
        replace(&mut tls.server_name, &self.tls_server_name);
    }

    fn merge_sasl(&self, settings: &mut SecuritySettings, password_is_set: bool) -> Result<(), CliError> {
        if let Some(mechanism) = self.sasl_mechanism {
            match &mut settings.sasl {
                Some(sasl) => sasl.mechanism = mechanism.into(),
                None => {
                    settings.sasl = Some(SaslSettings {
                        mechanism: mechanism.into(),
                        username: None,
                        password: None,
                        password_file: None,
                        password_env: None,
                        token_file: None,
                    });
                }
            }
        }
        let Some(sasl) = &mut settings.sasl else {
            let files = [&self.sasl_password_file, &self.sasl_token_file];
            if self.sasl_username.is_some()
                || self.sasl_password_env.is_some()
                || files.iter().any(|file| file.is_some())
            {
                return Err(CliError::usage(
                    "SASL is set without its mechanism: give --sasl-mechanism PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or \
                     OAUTHBEARER",
                ));
            }
            return Ok(());
        };
        replace(&mut sasl.username, &self.sasl_username);
        replace(&mut sasl.token_file, &self.sasl_token_file);
        if self.sasl_password_file.is_some() || self.sasl_password_env.is_some() {
            sasl.password = None;
            sasl.password_file.clone_from(&self.sasl_password_file);
            sasl.password_env.clone_from(&self.sasl_password_env);
        }
        let is_given = sasl.password.is_some() || sasl.password_file.is_some() || sasl.password_env.is_some();
        if !is_given && password_is_set && sasl.mechanism != SaslMechanism::OAuthBearer {
            sasl.password_env = Some(PASSWORD_VARIABLE.to_owned());
        }
        Ok(())
    }
}

fn replace<T: Clone>(setting: &mut Option<T>, given: &Option<T>) {
    if given.is_some() {
        setting.clone_from(given);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::security::{Sasl, Secret, Tls};

    fn file(text: &str) -> SecuritySettings {
        toml::from_str(text).unwrap()
    }

    fn merged(args: &SecurityArgs, text: &str, password_is_set: bool) -> Security {
        args.merge(file(text), password_is_set).unwrap().security().unwrap()
    }

    const SASL: &str =
        "[tls]\nca_file = 'file.pem'\n[sasl]\nmechanism = 'PLAIN'\nusername = 'file'\npassword = 'secret'";

    #[test]
    fn nothing_given_is_what_the_file_says() {
        let none = SecurityArgs::default();
        assert_eq!(merged(&none, "", true), Security::default());
        let security = Security::default().tls(Tls::new().ca_file("file.pem")).sasl(Sasl::plain("file", "secret"));
        assert_eq!(merged(&none, SASL, true), security);
    }

    #[test]
    fn flags_replace_single_settings_of_the_file() {
        let args = SecurityArgs {
            tls_server_name: Some("kafka".into()),
            sasl_mechanism: Some(MechanismArg::ScramSha256),
            sasl_username: Some("flag".into()),
            sasl_password_env: Some("V".into()),
            ..SecurityArgs::default()
        };
        let security = Security::default()
            .tls(Tls::new().ca_file("file.pem").server_name("kafka"))
            .sasl(Sasl::scram_sha_256("flag", Secret::env("V")));
        assert_eq!(merged(&args, SASL, false), security);
    }

    #[test]
    fn the_password_may_come_from_the_usual_variable() {
        let args = SecurityArgs {
            tls: true,
            sasl_mechanism: Some(MechanismArg::Plain),
            sasl_username: Some("a".into()),
            ..SecurityArgs::default()
        };
        let sasl = Sasl::plain("a", Secret::env(PASSWORD_VARIABLE));
        assert_eq!(merged(&args, "", true), Security::default().tls(Tls::new()).sasl(sasl));
        let error = args.merge(file(""), false).unwrap().security().unwrap_err();
        assert!(error.to_string().contains("security.sasl.password"), "{error}");
    }

    #[test]
    fn sasl_without_a_mechanism_says_so() {
        let args = SecurityArgs { sasl_username: Some("a".into()), ..SecurityArgs::default() };
        assert!(args.merge(file(""), false).unwrap_err().message.contains("--sasl-mechanism"));
    }
}
