//! A check of a message's bytes before they are decoded: the decoder sets memory aside for as many array entries as the
//! bytes claim to hold, so a hostile or garbled count of six bytes could end the process. Here the bytes are walked by
//! the message's shape first, and a count that the bytes cannot hold is an error.

/// One field and the versions that have it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    first: i16,
    last: i16,
    pub(super) kind: Kind,
}

/// The encoding of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// So many bytes.
    Fixed(usize),
    /// A string or null.
    Text,
    /// A string or null whose length takes two bytes in every version.
    #[cfg(feature = "embedded")]
    ShortText,
    /// A structure or null, behind a byte that says which.
    Nullable(&'static [Field]),
    /// A run of bytes or null.
    Blob,
    /// A structure in its own right, with tagged fields of its own.
    Struct(&'static [Field]),
    /// An array of structures, null or not.
    Structs(&'static [Field]),
    /// An array of something without tagged fields, null or not.
    List(&'static Kind),
    /// A tagged field that the decoder knows: it reads the value and never looks at the announced size.
    Tagged(u32, &'static Kind),
}

/// A field of the versions `first` and later.
pub(crate) const fn since(first: i16, kind: Kind) -> Field {
    Field { first, last: i16::MAX, kind }
}

/// A field that every version has.
#[cfg(feature = "embedded")]
pub(crate) const fn always(kind: Kind) -> Field {
    since(0, kind)
}

/// A field of the versions up to `last`.
#[cfg(feature = "embedded")]
pub(crate) const fn until(last: i16, kind: Kind) -> Field {
    since(0, kind).until(last)
}

/// A field of the versions from `first` to `last`.
#[cfg(feature = "embedded")]
pub(crate) const fn between(first: i16, last: i16, kind: Kind) -> Field {
    since(first, kind).until(last)
}

impl Field {
    /// Gives the last version that has the field.
    pub(crate) const fn until(mut self, last: i16) -> Self {
        self.last = last;
        self
    }
}

/// Walks `bytes` as the structure `fields` of `version` and returns what is left after it. `most` bounds how many array
/// entries and tagged fields it may hold.
pub(crate) fn check<'a>(
    bytes: &'a [u8],
    fields: &[Field],
    version: i16,
    flexible: bool,
    most: usize,
) -> Result<&'a [u8], String> {
    let mut walk = Walk { rest: bytes, version, flexible, left: most, most };
    walk.structure(fields)?;
    Ok(walk.rest)
}

struct Walk<'a> {
    rest: &'a [u8],
    version: i16,
    flexible: bool,
    /// How many more entries there may be, of how many.
    left: usize,
    most: usize,
}

impl Walk<'_> {
    fn structure(&mut self, fields: &[Field]) -> Result<(), String> {
        let version = self.version;
        for field in fields.iter().filter(|field| (field.first..=field.last).contains(&version)) {
            // Tagged fields come together, at the end.
            if !matches!(field.kind, Kind::Tagged(..)) {
                self.value(&field.kind)?;
            }
        }
        if self.flexible { self.tags(fields) } else { Ok(()) }
    }

    fn value(&mut self, kind: &Kind) -> Result<(), String> {
        match kind {
            Kind::Fixed(size) => self.skip(*size),
            Kind::Text => {
                let length = if self.flexible { self.compact()? } else { self.prefix::<2>()? };
                self.skip(length)
            }
            #[cfg(feature = "embedded")]
            Kind::ShortText => {
                let length = self.prefix::<2>()?;
                self.skip(length)
            }
            Kind::Nullable(fields) => {
                let (&there, rest) = self.rest.split_first().ok_or_else(|| self.short(1))?;
                self.rest = rest;
                if there == 1 { self.structure(fields) } else { Ok(()) }
            }
            Kind::Blob => {
                let length = self.length()?;
                self.skip(length)
            }
            Kind::Struct(fields) => self.structure(fields),
            Kind::Structs(fields) => {
                for _ in 0..self.count()? {
                    self.structure(fields)?;
                }
                Ok(())
            }
            Kind::List(Kind::Fixed(size)) => {
                let count = self.count()?;
                self.skip(count * size)
            }
            Kind::List(entry) => {
                for _ in 0..self.count()? {
                    self.value(entry)?;
                }
                Ok(())
            }
            Kind::Tagged(_, kind) => self.value(kind),
        }
    }

    fn tags(&mut self, fields: &[Field]) -> Result<(), String> {
        let count = self.varint()? as usize;
        self.spend(count)?;
        for _ in 0..count {
            let tag = self.varint()?;
            let size = self.varint()? as usize;
            let known = fields.iter().find_map(|field| match field.kind {
                Kind::Tagged(known, kind) if known == tag => Some(kind),
                _ => None,
            });
            let before = self.rest.len();
            match known {
                Some(kind) => self.value(kind)?,
                None => self.skip(size)?,
            }
            let took = before - self.rest.len();
            if took != size {
                return Err(format!("tagged field {tag} of {size} bytes takes {took}"));
            }
        }
        Ok(())
    }

    /// The number of entries of an array; each takes at least one byte.
    fn count(&mut self) -> Result<usize, String> {
        let count = self.length()?;
        self.spend(count)?;
        Ok(count)
    }

    fn spend(&mut self, entries: usize) -> Result<(), String> {
        if entries > self.rest.len() {
            return Err(format!("array of {entries} entries in {} bytes", self.rest.len()));
        }
        let left = self.left.checked_sub(entries);
        self.left = left.ok_or_else(|| format!("more than {} array entries", self.most))?;
        Ok(())
    }

    /// The length of an array or a run of bytes, null counting as 0.
    fn length(&mut self) -> Result<usize, String> {
        if self.flexible { self.compact() } else { self.prefix::<4>() }
    }

    /// A length stored plus one, 0 meaning null.
    fn compact(&mut self) -> Result<usize, String> {
        Ok((self.varint()? as usize).saturating_sub(1))
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

    fn varint(&mut self) -> Result<u32, String> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or_else(|| self.short(1))?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|error| error.to_string());
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

#[cfg(test)]
mod tests;
