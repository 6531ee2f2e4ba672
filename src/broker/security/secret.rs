use std::path::PathBuf;
use std::sync::Arc;
use std::{env, fmt, fs};

use serde::{Deserialize, Deserializer};

use crate::policy::ConfigError;

/// A password, or where to find it. It is not shown by `Debug`, in logs or in errors.
///
/// Files are read each time a connection authenticates, so that a password that was changed is taken up.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Source);

#[derive(Clone, PartialEq, Eq)]
enum Source {
    Text(Arc<str>),
    File(PathBuf),
    Env(String),
}

impl Secret {
    /// The password is the content of a file, without the line break at its end, if there is one.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Source::File(path.into()))
    }

    /// The password is the value of an environment variable.
    pub fn env(variable: impl Into<String>) -> Self {
        Self(Source::Env(variable.into()))
    }

    /// The password. `setting` is its name for errors, such as `security.sasl.password`.
    pub(crate) fn read(&self, setting: &str) -> Result<Arc<str>, ConfigError> {
        let (setting, text) = match &self.0 {
            Source::Text(text) => (setting.to_owned(), Arc::clone(text)),
            Source::File(path) => {
                let setting = format!("{setting}_file");
                let text = fs::read_to_string(path).map_err(|error| {
                    let remedy = "name a text file that this process may read";
                    ConfigError::new(&setting, path, format!("cannot be read ({error})"), remedy)
                })?;
                let line = text.strip_suffix('\n').unwrap_or(&text);
                (setting, line.strip_suffix('\r').unwrap_or(line).into())
            }
            Source::Env(variable) => {
                let setting = format!("{setting}_env");
                let text = env::var(variable).map_err(|_| {
                    let remedy = "set it in the environment of this process";
                    ConfigError::new(&setting, variable, "is no variable with a text", remedy)
                })?;
                (setting, text.into())
            }
        };
        if text.is_empty() {
            return Err(ConfigError::new(setting, "", "is empty", "give the password that the broker knows"));
        }
        if text.contains('\0') {
            // The value itself must not be shown.
            let remedy = "give a text without it; the protocol uses it as an end mark";
            return Err(ConfigError::new(setting, "…", "holds a NUL character", remedy));
        }
        Ok(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(Source::Text(text.into()))
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(Source::Text(text.into()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Text(_) => f.write_str("Secret(…)"),
            Source::File(path) => write!(f, "Secret(file {path:?})"),
            Source::Env(variable) => write!(f, "Secret(env {variable:?})"),
        }
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let shown = format!("{:?} {:?}", Secret::from("hunter2"), Secret::file("/run/secret"));
        assert_eq!(shown, r#"Secret(…) Secret(file "/run/secret")"#);
        let error = Secret::from("hunter\0two").read("security.sasl.password").unwrap_err();
        assert!(!error.to_string().contains("hunter"), "{error}");
    }

    #[test]
    fn a_file_is_read_anew_and_without_its_line_break() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let secret = Secret::file(file.path());
        for (content, password) in [("old\n", "old"), ("new\r\n", "new"), (" spaces kept ", " spaces kept ")] {
            fs::write(file.path(), content).unwrap();
            assert_eq!(&*secret.read("security.sasl.password").unwrap(), password);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = Secret::file("/no/such/file").read("security.sasl.password").unwrap_err().to_string();
        assert!(error.starts_with(r#"security.sasl.password_file = "/no/such/file" cannot be read"#), "{error}");
        let error = Secret::env("BEZOAR_NO_SUCH_VARIABLE").read("security.sasl.password").unwrap_err().to_string();
        assert!(error.starts_with(r#"security.sasl.password_env = "BEZOAR_NO_SUCH_VARIABLE" is no"#), "{error}");
        let error = Secret::from("").read("security.sasl.password").unwrap_err().to_string();
        assert!(error.starts_with(r#"security.sasl.password = "" is empty"#), "{error}");
    }
}
