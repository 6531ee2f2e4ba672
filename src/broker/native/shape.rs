//! A check of an answer's bytes before they are decoded: the decoder sets memory aside for as many array entries as the
//! bytes claim to hold, so a hostile or garbled count would end the process. Here the bytes are walked by the
//! answer's shape first, and a count that the bytes cannot hold is an error.

/// The type of a field.
#[derive(Debug)]
pub(super) enum Kind {
    /// A fixed number of bytes.
    Fixed(usize),
    /// A string, null or not.
    Text,
    /// An array of 32-bit numbers.
    Numbers,
    /// An array of structures, null or not.
    Structs(&'static [Field]),
}

/// A field, and the versions that have it.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) kind: Kind,
    pub(super) since: i16,
    pub(super) until: i16,
}

/// A field of the versions from `since` on.
pub(super) const fn since(since: i16, kind: Kind) -> Field {
    Field { kind, since, until: i16::MAX }
}

/// A field of the versions `since` to `until`.
pub(super) const fn between(since: i16, until: i16, kind: Kind) -> Field {
    Field { kind, since, until }
}

/// Walks `bytes` as the structure `fields` of `version` and returns what is left after it.
pub(super) fn check<'a>(bytes: &'a [u8], fields: &[Field], version: i16, flexible: bool) -> Result<&'a [u8], String> {
    let mut walk = Walk { rest: bytes, version, flexible };
    walk.structure(fields)?;
    Ok(walk.rest)
}

struct Walk<'a> {
    rest: &'a [u8],
    version: i16,
    flexible: bool,
}

impl Walk<'_> {
    fn structure(&mut self, fields: &[Field]) -> Result<(), String> {
        let version = self.version;
        for field in fields.iter().filter(|field| (field.since..=field.until).contains(&version)) {
            self.field(&field.kind)?;
        }
        if self.flexible { self.tags() } else { Ok(()) }
    }

    fn field(&mut self, kind: &Kind) -> Result<(), String> {
        match kind {
            Kind::Fixed(size) => self.skip(*size),
            Kind::Text => {
                let length = if self.flexible { self.compact()? } else { self.prefix::<2>()? };
                self.skip(length)
            }
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
        }
    }

    /// The number of entries of an array; each takes at least one byte.
    fn count(&mut self) -> Result<usize, String> {
        let count = if self.flexible { self.compact()? } else { self.prefix::<4>()? };
        if count > self.rest.len() {
            return Err(format!("array of {count} entries in {} bytes", self.rest.len()));
        }
        Ok(count)
    }

    fn tags(&mut self) -> Result<(), String> {
        for _ in 0..self.varint()? {
            self.varint()?;
            let size = self.varint()?;
            self.skip(size)?;
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
