use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::broker::security::SecuritySettings;
use crate::consumer::ConsumerSettings;

/// What a file says of the connection.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConnectionFile {
    /// Brokers to start from.
    #[serde(default, deserialize_with = "one_or_more")]
    pub(super) bootstrap: Vec<String>,
    /// TLS and SASL.
    #[serde(default)]
    pub(super) security: SecuritySettings,
}

impl ConnectionFile {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("the file {path:?} (--config) cannot be read ({error}): name a TOML file"))?;
        Self::parse(&text).map_err(|error| format!("the file {path:?} (--config) cannot be used: {error}"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let own = match toml::from_str(text) {
            Ok(file) => return Ok(file),
            Err(error) => error,
        };
        // The file of a service has more in it.
        if let Ok(settings) = toml::from_str::<ConsumerSettings>(text) {
            return Ok(Self { bootstrap: settings.bootstrap, security: settings.security });
        }
        // The error's `Display` quotes the line, which may hold a password.
        let line = own.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let place = line.map_or_else(String::new, |line| format!("line {line}: "));
        Err(format!("{place}{}", own.message().trim_end()))
    }
}

fn one_or_more<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "an address, or a list of addresses")]
    enum Addresses {
        One(String),
        More(Vec<String>),
    }
    Ok(match Addresses::deserialize(deserializer)? {
        Addresses::One(list) => list.split(',').map(|address| address.trim().to_owned()).collect(),
        Addresses::More(list) => list,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::security::{Sasl, Security};

    #[test]
    fn a_file_of_ones_own_and_that_of_a_consumer_are_both_read() {
        let security = "[security.sasl]\nmechanism = 'PLAIN'\nusername = 'a'\npassword = 'b'";
        let sasl = Security::default().sasl(Sasl::plain("a", "b"));
        for head in ["bootstrap = 'one:1, two:2'", "group = 'g'\nbootstrap = ['one:1', 'two:2']\npoison_timeout = '5s'"]
        {
            let file = ConnectionFile::parse(&format!("{head}\n{security}")).unwrap();
            assert_eq!(file.bootstrap, ["one:1", "two:2"]);
            assert_eq!(file.security.security().unwrap(), sasl);
        }
    }

    #[test]
    fn an_error_names_the_line_and_not_the_password() {
        let error = ConnectionFile::parse("bootstrap = 'one:1'\n[security.sasl]\npassword = 'hunter2\n").unwrap_err();
        assert!(error.starts_with("line 3: ") && !error.contains("hunter2"), "{error}");
        let error = ConnectionFile::parse("bootstrp = 'one:1'").unwrap_err();
        assert!(error.contains("bootstrp"), "{error}");
        let error = ConnectionFile::parse("[security.sasl]\npassword = 'hunter2'\nmechanism = 'none'").unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
        assert!(ConnectionFile::read(Path::new("/no/such/file")).unwrap_err().contains("--config"));
    }
}
