use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::broker::security::{Pem, Tls};
use crate::policy::ConfigError;

/// The PEM texts that a configuration is made of, as they were when read.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Material {
    pub(super) authorities: Vec<Text>,
    pub(super) certificate: Option<Text>,
    pub(super) key: Option<Text>,
}

/// A PEM text and where it is from, for errors.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Text {
    setting: &'static str,
    origin: String,
    pub(super) pem: Arc<[u8]>,
}

impl Material {
    pub(super) fn read(tls: &Tls) -> Result<Self, ConfigError> {
        let authorities =
            tls.authorities.iter().map(|pem| Text::read("security.tls.ca_file", "security.tls.ca_pem", pem));
        let (file, pem) = ("security.tls.client_certificate_file", "security.tls.client_certificate_pem");
        let certificate = tls.client.as_ref().map(|client| Text::read(file, pem, &client.certificate));
        let key = tls.client.as_ref().map(|client| Text::read("security.tls.client_key_file", pem, &client.key));
        Ok(Self {
            authorities: authorities.collect::<Result<_, _>>()?,
            certificate: certificate.transpose()?,
            key: key.transpose()?,
        })
    }
}

impl Text {
    fn read(as_file: &'static str, as_text: &'static str, pem: &Pem) -> Result<Self, ConfigError> {
        match pem {
            Pem::File(path) => {
                Ok(Self { setting: as_file, origin: path.display().to_string(), pem: file(as_file, path)?.into() })
            }
            Pem::Bytes(bytes) => Ok(Self { setting: as_text, origin: "PEM text".to_owned(), pem: Arc::clone(bytes) }),
        }
    }

    /// An error about this text.
    pub(super) fn error(&self, problem: impl Into<String>, remedy: &str) -> ConfigError {
        ConfigError::new(self.setting, &self.origin, problem, remedy)
    }
}

fn file(setting: &str, path: &Path) -> Result<Vec<u8>, ConfigError> {
    fs::read(path).map_err(|error| {
        ConfigError::new(setting, path, format!("cannot be read ({error})"), "name a file that this process may read")
    })
}
