use std::fmt;
use std::sync::Arc;

use super::context::DeadLetter;
use crate::record::Header;

/// What a redaction hook may change of a dead letter before it leaves the process.
#[non_exhaustive]
pub struct Redaction<'a> {
    /// The whole chain of errors; cut to its limit only afterwards.
    pub message: &'a mut String,
    /// The chain, one cause per line, and a backtrace; cut to its limit only afterwards.
    pub backtrace: &'a mut Option<String>,
    /// The original record's headers.
    pub headers: &'a mut Vec<Header>,
}

impl fmt::Debug for Redaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The contents are what must not get into logs.
        f.write_str("Redaction")
    }
}

/// A redaction hook. It runs under the guard that handlers run under.
pub type Redactor = Arc<dyn Fn(&mut Redaction<'_>) + Send + Sync>;

impl DeadLetter {
    /// Applies a redaction hook. Runs users' code: call it under the panic guard.
    pub fn redact(&mut self, redactor: &Redactor) {
        redactor(&mut Redaction {
            message: &mut self.context.message,
            backtrace: &mut self.context.backtrace,
            headers: &mut self.headers,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dead_letter::test_support::dead_letter;

    #[test]
    fn a_hook_changes_text_and_headers() {
        let mut letter = dead_letter();
        letter.context.message = "card 4711 refused".into();
        letter.context.backtrace = Some("card 4711".into());
        letter.headers = vec![Header::new("authorization", "secret"), Header::new("trace", "1")];
        let redactor: Redactor = Arc::new(|redaction| {
            *redaction.message = redaction.message.replace("4711", "****");
            *redaction.backtrace = None;
            redaction.headers.retain(|header| header.name != "authorization");
        });
        letter.redact(&redactor);
        assert_eq!(letter.context.message, "card **** refused");
        assert_eq!(letter.context.backtrace, None);
        assert_eq!(letter.headers, [Header::new("trace", "1")]);
    }
}
