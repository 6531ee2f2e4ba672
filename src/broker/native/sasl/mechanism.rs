use super::scram::Scram;
use crate::broker::security::{Mechanism, Token};

/// The client's side of one authentication.
pub(super) enum Exchange {
    /// One message, to which the broker answers nothing.
    Plain(Vec<u8>),
    Scram(Box<Scram>),
    /// One message; an answer is an error, which is to be acknowledged.
    Bearer(Vec<u8>),
}

/// What follows from a message of the broker.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Send(Vec<u8>),
    Done,
}

/// The separator of OAUTHBEARER.
const SEPARATOR: char = '\x01';

impl Exchange {
    pub(super) fn plain(username: &str, password: &str) -> Self {
        Self::Plain(format!("\0{username}\0{password}").into_bytes())
    }

    pub(super) fn bearer(token: &Token) -> Result<Self, String> {
        let mut message = format!("n,,{SEPARATOR}auth=Bearer {}{SEPARATOR}", printable(&token.value, "the token")?);
        for (name, value) in &token.extensions {
            if name.is_empty() || name == "auth" || !name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                return Err(format!("the extension {name:?} is not of ASCII letters, or is `auth`, which is taken"));
            }
            let value = printable(value, "the value of an extension")?;
            message.push_str(&format!("{name}={value}{SEPARATOR}"));
        }
        message.push(SEPARATOR);
        Ok(Self::Bearer(message.into_bytes()))
    }

    pub(super) fn first(&self) -> Vec<u8> {
        match self {
            Self::Plain(message) | Self::Bearer(message) => message.clone(),
            Self::Scram(scram) => scram.first().into_bytes(),
        }
    }

    pub(super) fn next(&mut self, message: &[u8]) -> Result<Next, String> {
        match self {
            Self::Scram(scram) => Ok(scram.next(message)?.map_or(Next::Done, |answer| Next::Send(answer.into_bytes()))),
            Self::Plain(_) | Self::Bearer(_) if message.is_empty() => Ok(Next::Done),
            Self::Plain(_) => Err("the broker answers where PLAIN has no answer".to_owned()),
            // Only after this does the broker end the exchange with an error code.
            Self::Bearer(_) => Ok(Next::Send(vec![SEPARATOR as u8])),
        }
    }
}

/// Refuses what would end the field that it stands in. The text itself is not shown: it may be a token.
fn printable<'a>(text: &'a str, what: &str) -> Result<&'a str, String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(format!("{what} is empty or holds a control character, such as a line break"));
    }
    Ok(text)
}

impl Mechanism {
    /// Whose credentials these are, for errors.
    pub(super) fn who(&self) -> String {
        match self {
            Self::Plain { username, .. } | Self::Scram { username, .. } => {
                format!("as {username:?} by {}", self.name())
            }
            Self::OAuthBearer(_) => format!("by {}", self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_is_one_message() {
        let mut exchange = Exchange::plain("alice", "secret");
        assert_eq!(exchange.first(), b"\0alice\0secret");
        assert_eq!(exchange.next(b""), Ok(Next::Done));
        assert!(exchange.next(b"?").is_err());
    }

    #[test]
    fn a_bearer_token_goes_with_its_extensions() {
        let token = Token::new("abc.def").extension("logicalCluster", "lkc-1").extension("pool", "p");
        let mut exchange = Exchange::bearer(&token).unwrap();
        assert_eq!(exchange.first(), b"n,,\x01auth=Bearer abc.def\x01logicalCluster=lkc-1\x01pool=p\x01\x01");
        assert_eq!(exchange.next(b"{\"status\":\"invalid_token\"}"), Ok(Next::Send(vec![1])));
        assert_eq!(exchange.next(b""), Ok(Next::Done));
    }

    #[test]
    fn tokens_and_extensions_that_would_forge_a_message_are_refused() {
        for token in [
            Token::new(""),
            Token::new("abc\n"),
            Token::new("abc\x01auth=Bearer other"),
            Token::new("abc").extension("auth", "x"),
            Token::new("abc").extension("a-b", "x"),
            Token::new("abc").extension("ok", "x\x01y=z"),
        ] {
            let error = Exchange::bearer(&token).err().unwrap();
            assert!(!error.contains("abc"), "{error}");
        }
    }
}
