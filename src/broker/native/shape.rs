//! A check of an answer's bytes before they are decoded: the decoder sets memory aside for as many array entries as the
//! bytes claim to hold, so a hostile or garbled count would end the process. Here the bytes are walked by the
//! answer's shape first, and a count that the bytes cannot hold is an error.

/// A field, and the versions that have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    kind: Kind,
    since: i16,
    until: i16,
}

/// The type of a field.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A fixed number of bytes.
    Fixed(usize),
    /// A string, null or not.
    Text,
    /// Bytes, null or not.
    Blob,
    /// An array of 32-bit numbers.
    Numbers,
    /// A structure.
    Struct(&'static [Field]),
    /// An array of structures, null or not.
    Structs(&'static [Field]),
    /// A tagged field that the decoder knows: it reads what it expects there, whatever size is announced.
    Tagged { tag: usize, field: &'static Field },
}

impl Field {
    const fn new(since: i16, kind: Kind) -> Self {
        Self { kind, since, until: i16::MAX }
    }

    /// Gives the last version that has the field.
    pub(super) const fn until(mut self, until: i16) -> Self {
        self.until = until;
        self
    }
}

pub(super) const fn bool(since: i16) -> Field {
    Field::new(since, Kind::Fixed(1))
}

pub(super) const fn int8(since: i16) -> Field {
    Field::new(since, Kind::Fixed(1))
}

pub(super) const fn int16(since: i16) -> Field {
    Field::new(since, Kind::Fixed(2))
}

pub(super) const fn int32(since: i16) -> Field {
    Field::new(since, Kind::Fixed(4))
}

pub(super) const fn int64(since: i16) -> Field {
    Field::new(since, Kind::Fixed(8))
}

pub(super) const fn uuid(since: i16) -> Field {
    Field::new(since, Kind::Fixed(16))
}

pub(super) const fn text(since: i16) -> Field {
    Field::new(since, Kind::Text)
}

pub(super) const fn blob(since: i16) -> Field {
    Field::new(since, Kind::Blob)
}

pub(super) const fn numbers(since: i16) -> Field {
    Field::new(since, Kind::Numbers)
}

pub(super) const fn structs(since: i16, fields: &'static [Field]) -> Field {
    Field::new(since, Kind::Structs(fields))
}

pub(super) const fn structure(since: i16, fields: &'static [Field]) -> Field {
    Field::new(since, Kind::Struct(fields))
}

pub(super) const fn tagged(since: i16, tag: usize, field: &'static Field) -> Field {
    Field::new(since, Kind::Tagged { tag, field })
}

/// The most array entries in one answer: some hundred times what the largest clusters have.
const MAX_ENTRIES: usize = 1 << 22;

/// Walks `bytes` as the structure `fields` of `version` and returns what is left after it.
pub(super) fn check<'a>(bytes: &'a [u8], fields: &[Field], version: i16, flexible: bool) -> Result<&'a [u8], String> {
    let mut walk = Walk { rest: bytes, version, flexible, entries: 0 };
    walk.structure(fields)?;
    Ok(walk.rest)
}

struct Walk<'a> {
    rest: &'a [u8],
    version: i16,
    flexible: bool,
    entries: usize,
}

impl Walk<'_> {
    fn structure(&mut self, fields: &[Field]) -> Result<(), String> {
        let version = self.version;
        for field in fields.iter().filter(|field| (field.since..=field.until).contains(&version)) {
            self.field(&field.kind)?;
        }
        if self.flexible { self.tags(fields) } else { Ok(()) }
    }

    fn field(&mut self, kind: &Kind) -> Result<(), String> {
        match kind {
            Kind::Fixed(size) => self.skip(*size),
            Kind::Text => {
                let length = if self.flexible { self.compact()? } else { self.prefix::<2>()? };
                self.skip(length)
            }
            Kind::Blob => {
                let length = if self.flexible { self.compact()? } else { self.prefix::<4>()? };
                self.skip(length)
            }
            Kind::Struct(fields) => self.structure(fields),
            Kind::Numbers => {
                let count = self.count()?;
                self.skip(count * 4)
            }
            Kind::Structs(fields) => {
                for _ in 0..self.count()? {
                    self.structure(fields)?;
                }
                Ok(())
            }
            // Comes with the other tagged fields, at the end.
            Kind::Tagged { .. } => Ok(()),
        }
    }

    /// The number of entries of an array; each takes at least one byte.
    fn count(&mut self) -> Result<usize, String> {
        let count = if self.flexible { self.compact()? } else { self.prefix::<4>()? };
        if count > self.rest.len() {
            return Err(format!("array of {count} entries in {} bytes", self.rest.len()));
        }
        self.entries += count;
        if self.entries > MAX_ENTRIES {
            return Err(format!("more than {MAX_ENTRIES} array entries"));
        }
        Ok(count)
    }

    fn tags(&mut self, fields: &[Field]) -> Result<(), String> {
        for _ in 0..self.varint()? {
            let (tag, size) = (self.varint()?, self.varint()?);
            let body = self.rest.get(..size).ok_or_else(|| self.short(size))?;
            let after = &self.rest[size..];
            let known = fields.iter().find_map(|field| match field.kind {
                Kind::Tagged { tag: known, field } if known == tag => Some(field),
                _ => None,
            });
            if let Some(field) = known {
                self.rest = body;
                let read = self.field(&field.kind);
                if read.is_err() || !self.rest.is_empty() {
                    return Err(format!("tagged field {tag} of {size} bytes"));
                }
            }
            self.rest = after;
        }
        Ok(())
    }

    /// A length stored plus one, 0 meaning null.
    fn compact(&mut self) -> Result<usize, String> {
        Ok(self.varint()?.saturating_sub(1))
    }

    /// A signed length of `N` bytes, -1 meaning null.
    fn prefix<const N: usize>(&mut self) -> Result<usize, String> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.short(N))?;
        self.rest = rest;
        let negative = bytes[0] & 0x80 != 0;
        let value = bytes.iter().fold(if negative { -1i64 } else { 0 }, |value, byte| (value << 8) | i64::from(*byte));
        match value {
            -1 => Ok(0),
            value => usize::try_from(value).map_err(|_| format!("negative length {value}")),
        }
    }

    fn varint(&mut self) -> Result<usize, String> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or_else(|| self.short(1))?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(value).map_err(|error| error.to_string());
            }
        }
        Err("number of more than five bytes".to_owned())
    }

    fn skip(&mut self, size: usize) -> Result<(), String> {
        self.rest = self.rest.get(size..).ok_or_else(|| self.short(size))?;
        Ok(())
    }

    fn short(&self, wanted: usize) -> String {
        format!("{wanted} bytes expected where {} are left", self.rest.len())
    }
}
