//! Numbers on the command line. The standard library's errors say what is wrong with a text, not what would be right.

use std::num::NonZeroU32;

/// Reads a number, zero included.
pub(super) fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number: u64 = text.parse().map_err(|_| "write a whole number, such as 0 or 100".to_owned())?;
    T::try_from(number).map_err(|_| "write a smaller number".to_owned())
}

/// Reads a number of which there must be at least one.
pub(super) fn positive(text: &str) -> Result<NonZeroU32, String> {
    let number: u32 = whole(text).map_err(|_| "write a whole number from 1 on, such as 100".to_owned())?;
    NonZeroU32::new(number).ok_or_else(|| "write 1 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_right_is_said() {
        assert_eq!((whole::<u64>("0"), whole::<u16>("65535")), (Ok(0), Ok(65_535)));
        assert_eq!(positive("7"), Ok(NonZeroU32::MIN.saturating_add(6)));
        for wrong in ["", "x", "-1", "1.5"] {
            assert!(whole::<usize>(wrong).unwrap_err().contains("a whole number"), "{wrong}");
            assert!(positive(wrong).unwrap_err().contains("from 1 on"), "{wrong}");
        }
        assert_eq!(whole::<u16>("65536"), Err("write a smaller number".to_owned()));
        assert_eq!(positive("0"), Err("write 1 or more".to_owned()));
    }
}
