use bezoar::record::Header;
use bezoar::replay::{Convention, DeadLetter, Fidelity};
use bytes::Bytes;

pub(crate) const KEY: &[u8] = b"shop-1";
pub(crate) const VALUE: &[u8] = b"{\"id\": 2, \xff";

/// Headers whose values are text.
pub(crate) fn texts(headers: &[(&'static str, &'static str)]) -> Vec<Header> {
    headers.iter().map(|(name, value)| text(name, value)).collect()
}

pub(crate) fn text(name: &'static str, value: &'static str) -> Header {
    Header::new(name, value)
}

/// A header whose value is no text.
pub(crate) fn bytes(name: &'static str, value: &'static [u8]) -> Header {
    Header::new(name, value)
}

/// Reads `written` behind a header of the original's, which must be all that is left of the headers.
pub(crate) fn read(written: Vec<Header>) -> DeadLetter {
    let own = [text("trace", "4bf9"), Header::null("empty"), text("trace", "4bf9")];
    let headers = own.iter().cloned().chain(written).collect();
    let letter = DeadLetter::read(Some(Bytes::from_static(KEY)), Some(Bytes::from_static(VALUE)), headers);
    assert_eq!((letter.key.as_deref(), letter.value.as_deref()), (Some(KEY), Some(VALUE)));
    assert_eq!(letter.headers, own);
    assert_eq!(letter.fidelity, Fidelity::Exact);
    letter
}

/// What `letter` says, for comparison: convention, origin, error's type, message, attempts, group.
pub(crate) fn said(letter: &DeadLetter) -> (Convention, String, &str, &str, Option<u32>, Option<&str>) {
    (
        letter.convention,
        letter.origin.to_string(),
        &letter.error_type,
        &letter.message,
        letter.attempts,
        letter.group.as_deref(),
    )
}

/// Where it was read from last.
pub(crate) fn last_hop(letter: &DeadLetter) -> Option<String> {
    letter.last_hop.as_ref().map(ToString::to_string)
}
