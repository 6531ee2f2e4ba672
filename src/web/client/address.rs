use std::fmt;

use hyper::Uri;

/// Where to post to. Its path is a secret as a rule, so that only the host is shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(super) secure: bool,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) path: String,
}

impl Address {
    /// Reads an address like `https://hooks.example/services/T0`. An error says what is wrong, without showing it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let Ok(uri) = text.trim().parse::<Uri>() else { return Err("is no address of the web") };
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) => return Err("begins with something other than http:// and https://"),
            None => return Err("is no address of the web: it begins with neither http:// nor https://"),
        };
        let Some(authority) = uri.authority() else { return Err("is no address of the web: it lacks a host") };
        if authority.as_str().contains('@') {
            return Err("holds a user name, which is not supported");
        }
        let host = authority.host();
        if host.is_empty() {
            return Err("is no address of the web: it lacks a host");
        }
        let port = match authority.as_str().strip_prefix(host) {
            Some("" | ":") | None => {
                if secure {
                    443
                } else {
                    80
                }
            }
            Some(_) => authority.port_u16().ok_or("holds a port that is none")?,
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Self { secure, host: host.to_owned(), port, path: path.to_owned() })
    }

    /// The same with another path, where it has none.
    pub(crate) fn or_path(mut self, path: &str) -> Self {
        if self.path == "/" {
            self.path = path.to_owned();
        }
        self
    }

    /// The host, which is no secret.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is to be encrypted.
    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    /// The path and what follows it.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// As the header `Host` has it.
    pub(super) fn authority(&self) -> String {
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }

    /// What to connect to; without the brackets of an IPv6 address.
    pub(super) fn name(&self) -> &str {
        self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&self.host)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.host)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_has_a_host_a_port_and_a_path() {
        let parts = |text| {
            let address = Address::parse(text).unwrap();
            (address.secure, address.name().to_owned(), address.port, address.path.clone(), address.authority())
        };
        let expect = |secure, name: &str, port, path: &str, authority: &str| {
            (secure, name.to_owned(), port, path.to_owned(), authority.to_owned())
        };
        assert_eq!(parts("https://h.example/a/b?c=d#e"), expect(true, "h.example", 443, "/a/b?c=d", "h.example"));
        assert_eq!(parts("http://localhost:9093\n"), expect(false, "localhost", 9093, "/", "localhost:9093"));
        assert_eq!(parts("http://[::1]:80/x"), expect(false, "::1", 80, "/x", "[::1]"));
        let shown = format!("{:?}", Address::parse("https://h.example/hunter2"));
        assert_eq!(shown, "Ok(Address(h.example))");
        let path = |text| Address::parse(text).unwrap().or_path("/api/v2/alerts").path;
        assert_eq!(path("http://h:1"), "/api/v2/alerts");
        assert_eq!(path("http://h:1/prefix/api/v2/alerts"), "/prefix/api/v2/alerts");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "hooks.example/x", "ftp://h/", "http://", "http://user:password@h/", "http://h:99999/", "/x"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "\\PC{0,60}") {
            let _ = Address::parse(&text);
            let _ = Address::parse(&format!("http://{text}"));
        }
    }
}
