use std::collections::BTreeMap;

/// Which offsets of one ownership are settled: disjoint, non-adjacent intervals above a start.
#[derive(Debug, Clone)]
pub(crate) struct Intervals {
    watermark: i64,
    /// Start to end (exclusive) of settled runs above the watermark.
    runs: BTreeMap<i64, i64>,
}

impl Intervals {
    /// Nothing settled at or above `start`.
    pub(crate) fn new(start: i64) -> Self {
        Self { watermark: start, runs: BTreeMap::new() }
    }

    /// The offset below which everything is settled.
    pub(crate) fn watermark(&self) -> i64 {
        self.watermark
    }

    /// Settles `[from, to)`; what is settled already may be settled again.
    pub(crate) fn settle(&mut self, from: i64, to: i64) {
        let mut from = from.max(self.watermark);
        let mut to = to;
        if from >= to {
            return;
        }
        // Swallow every run that overlaps or touches.
        while let Some((&start, &end)) = self.runs.range(..=to).next_back() {
            if end < from {
                break;
            }
            from = from.min(start);
            to = to.max(end);
            self.runs.remove(&start);
        }
        if from == self.watermark {
            self.watermark = to;
        } else {
            self.runs.insert(from, to);
        }
    }

    /// How many runs are kept above the watermark: the number of gaps that it waits for.
    pub(crate) fn gaps(&self) -> usize {
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_watermark_is_the_first_unsettled_offset(start in -5i64..50, settled in prop::collection::vec((0i64..120, 0i64..12), 0..60)) {
            let mut intervals = Intervals::new(start);
            let mut model = BTreeSet::new();
            for (from, length) in settled {
                intervals.settle(from, from + length);
                model.extend((from..from + length).filter(|offset| *offset >= start));
                let expected = (start..).find(|offset| !model.contains(offset)).unwrap();
                prop_assert_eq!(intervals.watermark(), expected);
                let above: Vec<i64> = model.iter().copied().filter(|offset| *offset > expected).collect();
                let runs = above.windows(2).filter(|pair| pair[1] != pair[0] + 1).count() + usize::from(!above.is_empty());
                prop_assert_eq!(intervals.gaps(), runs);
            }
        }
    }
}
