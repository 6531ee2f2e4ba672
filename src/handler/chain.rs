use std::error::Error;
use std::fmt::{self, Write};

use super::failure::Failure;

/// The most causes that are looked at; `source()` is users' code and may go round for ever.
pub(crate) const DEPTH_LIMIT: usize = 64;

/// The most bytes of text that are taken from one failure; `Display` is users' code too.
pub(crate) const TEXT_LIMIT: usize = 64 * 1024;

/// The texts of a failure: of its contexts and of each error in its chain. Reading it runs users' `Display` and `source`.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    /// "outer: cause: cause", a cause left out where the text before already ends with it.
    pub(crate) message: String,
    /// All texts, outermost first, repeated ones too, one per line: "outer", "caused by: cause".
    pub(crate) lines: String,
}

impl Chain {
    pub(crate) fn of(failure: &Failure) -> Self {
        let mut chain = Self::default();
        let mut left = TEXT_LIMIT;
        // What most errors say fits at once.
        let mut text = String::with_capacity(128);
        for heading in failure.headings() {
            put_bounded(&mut text, &heading, &mut left);
            chain.push(&mut text);
        }
        for error in errors(failure.error()) {
            put_bounded(&mut text, &error, &mut left);
            chain.push(&mut text);
        }
        chain
    }

    /// Adds the next text, and leaves an empty one behind.
    fn push(&mut self, text: &mut String) {
        if text.is_empty() {
            return;
        }
        if !self.lines.is_empty() {
            self.lines.push_str("\ncaused by: ");
        }
        if text.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
            self.lines.push_str(&text.replace(['\n', '\r'], " "));
        } else {
            self.lines.push_str(text);
        }
        if self.message.is_empty() {
            // As a rule it is the only one.
            std::mem::swap(&mut self.message, text);
        } else if !self.message.ends_with(&**text) {
            self.message.push_str(": ");
            self.message.push_str(text);
        }
        text.clear();
    }
}

/// `first` and its causes, outermost first, at most [`DEPTH_LIMIT`]. An `io::Error` that wraps another error passes over
/// it in `source()` (it gives the inner one's cause), so the inner one is visited here as a cause of its own.
pub(crate) fn errors<'a>(first: Option<&'a (dyn Error + 'static)>) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(first, |error| {
        let error: &'a (dyn Error + 'static) = *error;
        match error.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref()) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    })
    .take(DEPTH_LIMIT)
}

/// Appends the text of `value`, cut when `left` bytes are used up, on a character's boundary.
fn put_bounded(text: &mut String, value: &dyn fmt::Display, left: &mut usize) {
    struct Bounded<'a> {
        text: &'a mut String,
        left: &'a mut usize,
    }

    impl Write for Bounded<'_> {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            let fits = part.floor_char_boundary(*self.left);
            self.text.push_str(&part[..fits]);
            *self.left -= fits;
            if fits == part.len() { Ok(()) } else { Err(fmt::Error) }
        }
    }

    // An error means that the limit was reached, or that the user's `Display` gave up: what is there is kept.
    let _ = write!(Bounded { text, left }, "{value}");
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("reading the order failed")]
    struct Reading(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("reading failed: {0}")]
    struct Repeating(#[source] io::Error);

    /// Says what the inner error says, as `#[error(transparent)]` does, but names itself as its own cause.
    #[derive(Debug)]
    struct Ouroboros;

    impl fmt::Display for Ouroboros {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                f.write_str("hiß")?;
            }
        }
    }

    impl Error for Ouroboros {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self)
        }
    }

    fn message(failure: Failure) -> String {
        Chain::of(&failure).message
    }

    #[test]
    fn the_message_shows_the_whole_chain_once() {
        let io = || io::Error::new(io::ErrorKind::TimedOut, "no answer");
        assert_eq!(message(Reading(io()).into()), "reading the order failed: no answer");
        assert_eq!(message(Repeating(io()).into()), "reading failed: no answer");
        let failure = Failure::from(Reading(io())).context("order 3").context("reserving");
        assert_eq!(message(failure), "reserving: order 3: reading the order failed: no answer");
        assert_eq!(message(Failure::dependency("inventory")), "dependency inventory failed");
    }

    #[test]
    fn an_error_inside_an_io_error_is_visited() {
        let parse = "x".parse::<u32>().unwrap_err();
        let error = io::Error::new(io::ErrorKind::InvalidData, Reading(io::Error::other(parse)));
        let visited: Vec<bool> = errors(Some(&error)).map(|error| error.is::<std::num::ParseIntError>()).collect();
        assert_eq!(visited, [false, false, false, true]);
    }

    #[test]
    fn endless_text_and_endless_chains_are_cut() {
        let chain = Chain::of(&Failure::from(Ouroboros));
        assert!(chain.message.len() <= TEXT_LIMIT && chain.message.len() > TEXT_LIMIT - 4);
        assert_eq!(errors(Some(&Ouroboros)).count(), DEPTH_LIMIT);
    }
}
