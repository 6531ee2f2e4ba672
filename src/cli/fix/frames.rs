//! Messages between this process and the one that runs jq programs: a length of four bytes, big-endian, and so many bytes.

use std::io::{self, Read, Write};

/// Writes a message.
pub(super) fn write(to: &mut impl Write, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).map_err(|_| io::Error::other("larger than 4 GiB"))?;
    to.write_all(&length.to_be_bytes())?;
    to.write_all(message)?;
    to.flush()
}

/// Reads a message; `None` at the end.
pub(super) fn read(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u64::from(u32::from_be_bytes(length));
    let mut message = Vec::new();
    // Not allocated before it came: the length may be that of a process that died.
    from.take(length).read_to_end(&mut message)?;
    Ok((message.len() as u64 == length).then_some(message))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn messages_come_as_they_went(messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6), cut in 0usize..40) {
            let mut bytes = Vec::new();
            for message in &messages {
                write(&mut bytes, message).unwrap();
            }
            let mut from = bytes.as_slice();
            for message in &messages {
                let read = read(&mut from).unwrap();
                prop_assert_eq!(read.as_ref(), Some(message));
            }
            prop_assert_eq!(read(&mut from).unwrap(), None);
            let mut from = &bytes[..bytes.len().saturating_sub(cut)];
            while read(&mut from).unwrap().is_some() {}
        }
    }
}
