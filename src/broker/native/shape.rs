//! How the tables of answers' fields are written: each field with the first version that has it.

pub(super) use crate::broker::shape::Field;
use crate::broker::shape::{self, Kind, since};

/// The most array entries in one answer: some hundred times what the largest clusters have.
const MAX_ENTRIES: usize = 1 << 22;

/// Walks `bytes` as the structure `fields` of `version` and returns what is left after it.
pub(super) fn check<'a>(bytes: &'a [u8], fields: &[Field], version: i16, flexible: bool) -> Result<&'a [u8], String> {
    shape::check(bytes, fields, version, flexible, MAX_ENTRIES)
}

pub(super) const fn bool(first: i16) -> Field {
    since(first, Kind::Fixed(1))
}

pub(super) const fn int8(first: i16) -> Field {
    since(first, Kind::Fixed(1))
}

pub(super) const fn int16(first: i16) -> Field {
    since(first, Kind::Fixed(2))
}

pub(super) const fn int32(first: i16) -> Field {
    since(first, Kind::Fixed(4))
}

pub(super) const fn int64(first: i16) -> Field {
    since(first, Kind::Fixed(8))
}

pub(super) const fn uuid(first: i16) -> Field {
    since(first, Kind::Fixed(16))
}

/// A string, null or not.
pub(super) const fn text(first: i16) -> Field {
    since(first, Kind::Text)
}

/// A run of bytes, null or not.
pub(super) const fn blob(first: i16) -> Field {
    since(first, Kind::Blob)
}

/// An array of 32-bit numbers.
pub(super) const fn numbers(first: i16) -> Field {
    since(first, Kind::List(&Kind::Fixed(4)))
}

/// An array of strings.
pub(super) const fn texts(first: i16) -> Field {
    since(first, Kind::List(&Kind::Text))
}

/// A structure.
pub(super) const fn structure(first: i16, fields: &'static [Field]) -> Field {
    since(first, Kind::Struct(fields))
}

/// A structure or null.
pub(super) const fn nullable(first: i16, fields: &'static [Field]) -> Field {
    since(first, Kind::Nullable(fields))
}

/// An array of structures, null or not.
pub(super) const fn structs(first: i16, fields: &'static [Field]) -> Field {
    since(first, Kind::Structs(fields))
}

/// A tagged field that the decoder knows.
pub(super) const fn tagged(first: i16, tag: u32, field: &'static Field) -> Field {
    since(first, Kind::Tagged(tag, &field.kind))
}
