/// Reads what another member wrote; every length is checked against the bytes that are there.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn i16(&mut self) -> Result<i16, String> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, String> {
        self.array().map(i32::from_be_bytes)
    }

    /// The number of an array's entries, null being none. It sets nothing aside for them: each is read before the next, so a
    /// count beyond the bytes ends with them.
    pub(super) fn count(&mut self) -> Result<i32, String> {
        match self.i32()? {
            -1 => Ok(0),
            count if count < 0 => Err(format!("array of {count} entries")),
            count => Ok(count),
        }
    }

    pub(super) fn text(&mut self) -> Result<&'a str, String> {
        self.nullable_text()?.ok_or_else(|| "null where there must be a text".to_owned())
    }

    pub(super) fn nullable_text(&mut self) -> Result<Option<&'a str>, String> {
        match self.i16()? {
            -1 => Ok(None),
            length => std::str::from_utf8(self.take(length.into())?).map(Some).map_err(|error| error.to_string()),
        }
    }

    /// A run of bytes, null being none.
    pub(super) fn blob(&mut self) -> Result<&'a [u8], String> {
        match self.i32()? {
            -1 => Ok(&[]),
            length => self.take(length),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (array, rest) = self
            .rest
            .split_first_chunk()
            .ok_or_else(|| format!("{N} bytes expected where {} are left", self.rest.len()))?;
        self.rest = rest;
        Ok(*array)
    }

    fn take(&mut self, length: i32) -> Result<&'a [u8], String> {
        let taken = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (taken, rest) =
            taken.ok_or_else(|| format!("{length} bytes expected where {} are left", self.rest.len()))?;
        self.rest = rest;
        Ok(taken)
    }
}
