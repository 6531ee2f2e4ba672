use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is set aside for a frame before any of it has arrived.
const FIRST: usize = 64 << 10;

/// Reads one length-prefixed frame of at most `limit` bytes. Memory grows with what arrives, not with what the prefix
/// claims. `None` at the end of the stream between frames; [`io::ErrorKind::FileTooLarge`] where the frame is above the limit.
pub(super) async fn read_frame(stream: &mut (impl AsyncRead + Unpin), limit: usize) -> io::Result<Option<Bytes>> {
    let length = match stream.read_i32().await {
        Ok(length) => length,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    let length = usize::try_from(length).map_err(|_| invalid(format!("answer of negative length {length}")))?;
    if length > limit {
        let text = format!("answer of {length} bytes, above the limit of {limit} (max_response_bytes)");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    let mut frame = BytesMut::with_capacity(length.min(FIRST));
    let mut body = stream.take(length as u64);
    while frame.len() < length {
        if frame.capacity() == frame.len() {
            frame.reserve(frame.len().min(length - frame.len()));
        }
        if body.read_buf(&mut frame).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "connection closed within an answer"));
        }
    }
    Ok(Some(frame.freeze()))
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_are_read_one_by_one_until_the_end() {
        let mut bytes: &[u8] = &[0, 0, 0, 2, 7, 8, 0, 0, 0, 0];
        assert_eq!(read_frame(&mut bytes, 10).await.unwrap(), Some(Bytes::from_static(&[7, 8])));
        assert_eq!(read_frame(&mut bytes, 10).await.unwrap(), Some(Bytes::new()));
        assert_eq!(read_frame(&mut bytes, 10).await.unwrap(), None);
    }

    #[tokio::test]
    async fn lengths_that_lie_are_errors() {
        for bytes in [&[0xff, 0xff, 0xff, 0xff][..], &[0, 0, 0, 11, 1], &[0, 0, 0, 5, 1, 2]] {
            let mut bytes = bytes;
            assert!(read_frame(&mut bytes, 10).await.is_err());
        }
    }

    #[tokio::test]
    async fn a_frame_larger_than_the_first_allocation_arrives_whole() {
        let mut bytes = (200_000u32).to_be_bytes().to_vec();
        bytes.extend((0..200_000u32).map(|byte| byte as u8));
        let frame = read_frame(&mut bytes.as_slice(), 1 << 20).await.unwrap().unwrap();
        assert_eq!(frame, bytes[4..]);
    }
}
