use bytes::{Buf, Bytes};

/// Whether a member's metadata, which is for the assignor alone, is a consumer's subscription that names a topic.
/// Read with bounds: it may be anything.
pub(super) fn names(mut metadata: Bytes, topic: &str) -> bool {
    let mut find = || {
        metadata.try_get_i16().ok()?;
        let count = metadata.try_get_i32().ok()?;
        for _ in 0..count {
            let length = usize::try_from(metadata.try_get_i16().ok()?).ok()?;
            if metadata.len() < length {
                return None;
            }
            if metadata.split_to(length) == topic.as_bytes() {
                return Some(());
            }
        }
        None
    };
    find().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_found_and_nothing_is_read_past_the_end() {
        let metadata = Bytes::from_static(b"\0\x01\0\0\0\x02\0\x01a\0\x02bc\xff\xff\xff\xff");
        assert!(names(metadata.clone(), "a") && names(metadata.clone(), "bc"));
        assert!(!names(metadata.clone(), "b") && !names(Bytes::new(), "a"));
        for end in 0..metadata.len() {
            assert_eq!(names(metadata.slice(..end), "bc"), end >= 13, "{end}");
        }
        assert!(!names(Bytes::from_static(b"\0\x01\x7f\xff\xff\xff\xff\xff"), "a"));
    }
}
