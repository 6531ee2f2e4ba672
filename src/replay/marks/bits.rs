use std::collections::BTreeMap;
use std::ops::Range;

/// A set of offsets: a word for each 64 of which one is there, so that neighbours cost next to nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bits {
    words: BTreeMap<i64, u64>,
}

const WORD: i64 = u64::BITS as i64;

impl Bits {
    pub(super) fn insert(&mut self, offset: i64) {
        *self.words.entry(offset.div_euclid(WORD)).or_default() |= 1 << offset.rem_euclid(WORD);
    }

    pub(super) fn remove(&mut self, offset: i64) {
        if let Some(word) = self.words.get_mut(&offset.div_euclid(WORD)) {
            *word &= !(1 << offset.rem_euclid(WORD));
            if *word == 0 {
                self.words.remove(&offset.div_euclid(WORD));
            }
        }
    }

    pub(super) fn contains(&self, offset: i64) -> bool {
        self.words.get(&offset.div_euclid(WORD)).is_some_and(|word| word & 1 << offset.rem_euclid(WORD) != 0)
    }

    /// How many are in a range.
    pub(super) fn count(&self, range: Range<i64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let (first, last) = (range.start.div_euclid(WORD), (range.end - 1).div_euclid(WORD));
        let within = |(index, word): (&i64, &u64)| {
            let from = if *index == first { u64::MAX << range.start.rem_euclid(WORD) } else { u64::MAX };
            let to = if *index == last { u64::MAX >> (WORD - 1 - (range.end - 1).rem_euclid(WORD)) } else { u64::MAX };
            u64::from((word & from & to).count_ones())
        };
        self.words.range(first..=last).map(within).sum()
    }

    /// The first offset of a range that is not in the set; the range's end where all are.
    pub(super) fn first_missing(&self, range: Range<i64>) -> i64 {
        let mut offset = range.start;
        while offset < range.end {
            let word = self.words.get(&offset.div_euclid(WORD)).copied().unwrap_or(0);
            let at = offset.rem_euclid(WORD);
            // Ones are shifted in from above only where the word itself has them.
            let ones = i64::from((!(word >> at)).trailing_zeros());
            if ones < WORD - at {
                return (offset + ones).min(range.end);
            }
            offset += WORD - at;
        }
        range.end.max(range.start)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(changes in prop::collection::vec((0i64..400, any::<bool>()), 0..300), start in 0i64..400, length in 0i64..300) {
            let (mut bits, mut set) = (Bits::default(), BTreeSet::new());
            for (offset, there) in changes {
                if there {
                    bits.insert(offset);
                    set.insert(offset);
                } else {
                    bits.remove(offset);
                    set.remove(&offset);
                }
            }
            let range = start..start + length;
            for offset in 0..400 {
                prop_assert_eq!(bits.contains(offset), set.contains(&offset));
            }
            prop_assert_eq!(bits.count(range.clone()), set.range(range.clone()).count() as u64);
            let missing = range.clone().find(|offset| !set.contains(offset)).unwrap_or(range.end);
            prop_assert_eq!(bits.first_missing(range), missing);
            prop_assert_eq!(bits.words.is_empty(), set.is_empty());
        }
    }

    #[test]
    fn full_words_are_passed_over() {
        let mut bits = Bits::default();
        (0..1000).for_each(|offset| bits.insert(offset));
        assert_eq!(bits.first_missing(0..2000), 1000);
        assert_eq!(bits.first_missing(3..900), 900);
        assert_eq!(bits.first_missing(5..5), 5);
        assert_eq!(bits.count(0..i64::MAX), 1000);
        assert_eq!(bits.words.len(), 16);
    }
}
