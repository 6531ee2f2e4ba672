//! Reads dead letters of all conventions.
//!
//! One pass over the headers finds what any convention knows ([`Scan`](scan::Scan)); the tables of names are in
//! [`conventions`]. Which of them wrote the dead letter is told by what is there ([`Layout::needs`](layout::Layout::needs)), and
//! by which stands last where there are several: hops append. What is asked for is then decoded ([`Glance`]), all of it into a
//! [`DeadLetter`].

mod content;
mod conventions;
mod found;
mod glance;
mod json;
mod layout;
mod scan;
mod value;

use bytes::Bytes;

use self::conventions::LAYOUTS;
use self::glance::Glance;
use super::{Convention, DeadLetter};
use crate::record::{Header, Record};

impl DeadLetter {
    /// Reads a record of a dead-letter topic, by whatever convention it was written; see the
    /// [list of conventions](Convention). It never fails: what is no dead letter is [`Convention::Unrecognized`], with the
    /// record as it is, and what cannot be read of one is left out and told in [`unreadable`](Self::unreadable).
    ///
    /// Headers can be forged: what is read says what was claimed.
    pub fn read(key: Option<Bytes>, value: Option<Bytes>, headers: Vec<Header>) -> Self {
        let glance = Glance::at(headers.iter().map(Header::borrowed), value.as_deref());
        glance.whole(key, value.clone(), headers.iter().cloned())
    }

    /// The same for a record as it was fetched.
    pub fn from_record(record: &Record) -> Self {
        Glance::of(record).letter(record)
    }
}

/// Whether any convention knows headers of this name.
pub(crate) fn is_known(name: &[u8]) -> bool {
    scan::layouts_of(name) != 0
}

/// Whether a header of this name tells of a failure, an attempt or a replay, whoever writes it. Names that anybody may use for
/// something else (`error`, `source`, `original_offset`, …) are none of them.
pub(crate) fn is_failure_header(name: &[u8]) -> bool {
    let layouts = scan::layouts_of(name);
    LAYOUTS.iter().enumerate().any(|(place, layout)| layout.distinct && layouts & 1 << place != 0)
}

/// The headers without those of `convention`, and without what earlier replays added.
pub(crate) fn strip(headers: Vec<Header>, convention: Convention) -> Vec<Header> {
    let strips = |layouts: scan::Layouts| {
        LAYOUTS.iter().enumerate().any(|(place, layout)| {
            let is_lineage = place == conventions::LINEAGE_PLACE;
            layouts & 1 << place != 0 && (layout.convention == convention || is_lineage)
        })
    };
    headers.into_iter().filter(|header| !strips(scan::layouts_of(&header.name))).collect()
}
