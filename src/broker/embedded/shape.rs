//! How requests lie on the wire, so that their bytes are checked before they are decoded (see
//! [`shape`](crate::broker::shape)): memory is then bounded by the size of the frame.

use crate::broker::shape::check;
pub(crate) use crate::broker::shape::{Field, Kind, always, between, since, until};

/// The most array elements and tagged fields that one request may hold.
const MAX_ELEMENTS: usize = 1 << 20;

/// How the requests of one API lie on the wire.
pub(crate) struct Shape {
    /// The first version with compact lengths and tagged fields.
    pub(crate) flexible: i16,
    pub(crate) fields: &'static [Field],
}

/// The header before a request, by the header's own version.
pub(crate) static HEADER: Shape = Shape { flexible: 2, fields: &[always(Kind::Fixed(8)), always(Kind::ShortText)] };

impl Shape {
    /// Whether `body` is a whole request of `version`. Bytes after it are of no concern, as in Kafka.
    pub(crate) fn fits(&self, body: &[u8], version: i16) -> bool {
        self.walk(body, version).is_some()
    }

    /// Walks the request and returns what is left after it.
    pub(super) fn walk<'a>(&self, body: &'a [u8], version: i16) -> Option<&'a [u8]> {
        check(body, self.fields, version, version >= self.flexible, MAX_ELEMENTS).ok()
    }
}
