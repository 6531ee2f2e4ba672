//! A check of a request's bytes before they are decoded.
//!
//! The decoder of `kafka-protocol` reserves room for as many elements as an array announces, before it has seen any:
//! six bytes from anybody could make it ask for hundreds of gigabytes. So each API states how its requests lie on the
//! wire, and a request is walked along that shape first. What passes holds every element that it announces, and no
//! more than [`MAX_ELEMENTS`] of them; memory is then bounded by the size of the frame.

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

/// One field and the versions that have it.
pub(crate) struct Field {
    first: i16,
    last: i16,
    kind: Kind,
}

/// The encoding of a field.
pub(crate) enum Kind {
    /// So many bytes.
    Fixed(usize),
    /// A string or null.
    Text,
    /// A string or null whose length takes two bytes in every version.
    ShortText,
    /// A run of bytes or null.
    Blob,
    /// A structure in its own right, with tagged fields of its own.
    Struct(&'static [Field]),
    /// A structure or null, behind a byte that says which.
    Nullable(&'static [Field]),
    /// An array of structures.
    Structs(&'static [Field]),
    /// An array of something without tagged fields.
    List(&'static Kind),
    /// A tagged field that the decoder knows: it reads the value and never looks at the announced size.
    Tagged(u32, &'static Kind),
}

/// A field that every version has.
pub(crate) const fn always(kind: Kind) -> Field {
    Field { first: 0, last: i16::MAX, kind }
}

/// A field of the versions `first` and later.
pub(crate) const fn since(first: i16, kind: Kind) -> Field {
    Field { first, last: i16::MAX, kind }
}

/// A field of the versions up to `last`.
pub(crate) const fn until(last: i16, kind: Kind) -> Field {
    Field { first: 0, last, kind }
}

/// A field of the versions from `first` to `last`.
pub(crate) const fn between(first: i16, last: i16, kind: Kind) -> Field {
    Field { first, last, kind }
}

impl Shape {
    /// Whether `body` is a whole request of `version`. Bytes after it are of no concern, as in Kafka.
    pub(crate) fn fits(&self, body: &[u8], version: i16) -> bool {
        self.walk(body, version).is_some()
    }

    /// Walks the request and returns what is left after it.
    pub(super) fn walk<'a>(&self, body: &'a [u8], version: i16) -> Option<&'a [u8]> {
        let mut walk = Walk { rest: body, version, flexible: version >= self.flexible, elements: MAX_ELEMENTS };
        walk.structure(self.fields)?;
        Some(walk.rest)
    }
}

struct Walk<'a> {
    rest: &'a [u8],
    version: i16,
    flexible: bool,
    elements: usize,
}

impl Walk<'_> {
    fn structure(&mut self, fields: &'static [Field]) -> Option<()> {
        for field in fields {
            if (field.first..=field.last).contains(&self.version) && !matches!(field.kind, Kind::Tagged(..)) {
                self.value(&field.kind)?;
            }
        }
        if self.flexible {
            self.tags(fields)?;
        }
        Some(())
    }

    fn value(&mut self, kind: &'static Kind) -> Option<()> {
        match kind {
            Kind::Fixed(size) => self.skip(*size),
            Kind::Text => {
                let length = if self.flexible { self.compact()? } else { i64::from(self.i16()?) };
                self.skip(usize::try_from(length.max(0)).ok()?)
            }
            Kind::ShortText => {
                let length = self.i16()?.max(0);
                self.skip(usize::try_from(length).ok()?)
            }
            Kind::Blob => {
                let length = self.length()?;
                self.skip(length)
            }
            Kind::Struct(fields) => self.structure(fields),
            Kind::Nullable(fields) => {
                let (&[presence], rest) = self.rest.split_first_chunk()?;
                self.rest = rest;
                if presence == 1 { self.structure(fields) } else { Some(()) }
            }
            Kind::Structs(fields) => {
                for _ in 0..self.count()? {
                    self.structure(fields)?;
                }
                Some(())
            }
            Kind::List(element) => {
                for _ in 0..self.count()? {
                    self.value(element)?;
                }
                Some(())
            }
            // Read in the section of tagged fields.
            Kind::Tagged(..) => Some(()),
        }
    }

    fn tags(&mut self, fields: &'static [Field]) -> Option<()> {
        let count = self.varint()? as usize;
        self.spend(count)?;
        for _ in 0..count {
            let tag = self.varint()?;
            let size = self.varint()? as usize;
            let known = fields.iter().find_map(|field| match field.kind {
                Kind::Tagged(number, kind) if number == tag => Some(kind),
                _ => None,
            });
            let before = self.rest.len();
            match known {
                Some(kind) => self.value(kind)?,
                None => self.skip(size)?,
            }
            if before - self.rest.len() != size {
                return None;
            }
        }
        Some(())
    }

    /// The length of an array, null counting as empty, once it is known to be within bounds.
    fn count(&mut self) -> Option<usize> {
        let count = self.length()?;
        self.spend(count)?;
        Some(count)
    }

    fn spend(&mut self, elements: usize) -> Option<()> {
        self.elements = self.elements.checked_sub(elements)?;
        Some(())
    }

    /// The length of an array or blob, null counting as 0.
    fn length(&mut self) -> Option<usize> {
        let length = if self.flexible { self.compact()? } else { i64::from(self.i32()?) };
        usize::try_from(length.max(0)).ok()
    }

    /// A compact length: null is -1.
    fn compact(&mut self) -> Option<i64> {
        Some(i64::from(self.varint()?) - 1)
    }

    /// Reads exactly as the decoder does: five bytes at most, bits that do not fit fall off.
    fn varint(&mut self) -> Option<u32> {
        let mut value = 0u32;
        for index in 0..5 {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u32::from(byte & 0x7f) << (index * 7);
            if byte < 0x80 {
                break;
            }
        }
        Some(value)
    }

    fn i16(&mut self) -> Option<i16> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(i16::from_be_bytes(*bytes))
    }

    fn i32(&mut self) -> Option<i32> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(i32::from_be_bytes(*bytes))
    }

    fn skip(&mut self, size: usize) -> Option<()> {
        self.rest = self.rest.get(size..)?;
        Some(())
    }
}
