use std::borrow::Cow;

use bytes::{Bytes, BytesMut};

use super::varint::{put_run, put_varint, read_run, read_varint};

/// One header of a record, owned. Names need not be unique; a null value differs from an empty one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Header {
    /// The name, UTF-8 by the protocol, kept as bytes so that nothing is lost where it is not.
    pub name: Bytes,
    /// The value; `None` is Kafka's null.
    pub value: Option<Bytes>,
}

impl Header {
    /// A header with a value.
    pub fn new(name: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self { name: name.into(), value: Some(value.into()) }
    }

    /// A header whose value is null.
    pub fn null(name: impl Into<Bytes>) -> Self {
        Self { name: name.into(), value: None }
    }

    pub(crate) fn borrowed(&self) -> HeaderRef<'_> {
        HeaderRef { name: &self.name, value: self.value.as_deref() }
    }
}

/// One header of a record, borrowed from its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderRef<'a> {
    /// The name's bytes.
    pub name: &'a [u8],
    /// The value's bytes; `None` is Kafka's null.
    pub value: Option<&'a [u8]>,
}

impl<'a> HeaderRef<'a> {
    /// The name as text; bytes that are not UTF-8 are replaced.
    pub fn name_lossy(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.name)
    }

    /// An owned copy.
    pub fn to_owned(&self) -> Header {
        Header { name: Bytes::copy_from_slice(self.name), value: self.value.map(Bytes::copy_from_slice) }
    }
}

/// The headers of a record in their order, duplicates and nulls included. Decoded only as far as they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a> {
    encoded: &'a [u8],
}

impl<'a> Headers<'a> {
    /// Wraps headers in the encoding of record batches of magic 2 (varint count, then length-prefixed pairs).
    /// Bytes that are not such an encoding yield what can be read of them.
    pub(crate) fn from_encoded(encoded: &'a [u8]) -> Self {
        Self { encoded }
    }

    /// Iterates over all headers, first to last.
    #[inline]
    pub fn iter(&self) -> HeadersIter<'a> {
        let mut rest = self.encoded;
        let left = read_varint(&mut rest).unwrap_or(0);
        HeadersIter { rest, left }
    }

    /// How many headers there are.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The last header named `name` (the newest, where hops append); `None` where there is none.
    pub fn last(&self, name: &str) -> Option<HeaderRef<'a>> {
        self.iter().filter(|header| header.name == name.as_bytes()).last()
    }

    /// The value of the last header named `name` as text; `None` where it is absent, null or not UTF-8.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.last(name).and_then(|header| header.value).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Owned copies of all headers.
    pub fn to_vec(&self) -> Vec<Header> {
        self.iter().map(|header| header.to_owned()).collect()
    }
}

impl<'a> IntoIterator for Headers<'a> {
    type Item = HeaderRef<'a>;
    type IntoIter = HeadersIter<'a>;

    #[inline]
    fn into_iter(self) -> HeadersIter<'a> {
        self.iter()
    }
}

/// Iterator over [`Headers`].
#[derive(Debug, Clone)]
pub struct HeadersIter<'a> {
    rest: &'a [u8],
    left: i64,
}

impl<'a> Iterator for HeadersIter<'a> {
    type Item = HeaderRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<HeaderRef<'a>> {
        if self.left <= 0 {
            return None;
        }
        self.left -= 1;
        let header = self.read();
        if header.is_none() {
            self.left = 0;
        }
        header
    }
}

impl<'a> HeadersIter<'a> {
    #[inline]
    fn read(&mut self) -> Option<HeaderRef<'a>> {
        let name = read_run(&mut self.rest)??;
        let value = read_run(&mut self.rest)?;
        Some(HeaderRef { name, value })
    }
}

/// Appends headers to `buffer` in the encoding that [`Headers::from_encoded`] reads.
pub(crate) fn encode_headers<'a>(buffer: &mut BytesMut, headers: impl ExactSizeIterator<Item = HeaderRef<'a>>) {
    put_varint(buffer, headers.len() as i64);
    for header in headers {
        put_run(buffer, Some(header.name));
        put_run(buffer, header.value);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn headers_round_trip(list in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..20), prop::option::of(prop::collection::vec(any::<u8>(), 0..200))), 0..12)) {
            let owned: Vec<Header> = list.into_iter().map(|(name, value)| Header { name: name.into(), value: value.map(Bytes::from) }).collect();
            let mut buffer = BytesMut::new();
            encode_headers(&mut buffer, owned.iter().map(Header::borrowed));
            prop_assert_eq!(Headers::from_encoded(&buffer).to_vec(), owned);
        }

        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let headers = Headers::from_encoded(&bytes);
            prop_assert!(headers.len() <= bytes.len());
        }
    }
}
