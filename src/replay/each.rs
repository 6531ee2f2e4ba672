use std::ops::ControlFlow;

use super::duplicates::Duplicates;
use super::entry::Entry;
use super::error::ReplayError;
use super::filter::Filter;
use super::letters::DeadLetters;
use super::scan::Collect;
use super::sight::Sight;

/// What a scan came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Scanned {
    /// How many dead letters fit, and were handed over.
    pub matched: u64,
    /// How many ranges of the topics' logs are damaged and were passed over; the log tells which.
    pub unreadable: u64,
}

struct Each<F> {
    each: F,
    duplicates: Duplicates,
    matched: u64,
}

impl<F: FnMut(Entry) -> ControlFlow<()> + Send> Collect for Each<F> {
    fn take(&mut self, sight: Sight<'_>) -> ControlFlow<()> {
        self.matched += 1;
        let mut entry = sight.into_entry();
        self.duplicates.mark(&mut entry);
        (self.each)(entry)
    }
}

impl DeadLetters {
    /// Hands each dead letter that fits to `each`, until it says `Break`; memory does not grow with their number.
    ///
    /// Topic by topic in the order given, the partitions of a topic side by side, each in the order of its log. An entry is a
    /// slice of what was fetched (1 MiB as a rule), which stays in memory as long as it does.
    ///
    /// A record can be dead-lettered twice when a consumer dies in between: the later one says which it
    /// [repeats](Entry::duplicate_of), if that was handed over among the 10,000 before it.
    ///
    /// # Errors
    /// As for [`list`](Self::list).
    pub async fn for_each(
        &self,
        filter: &Filter,
        each: impl FnMut(Entry) -> ControlFlow<()> + Send,
    ) -> Result<Scanned, ReplayError> {
        let mut collector = Each { each, duplicates: Duplicates::default(), matched: 0 };
        let mut unreadable = 0;
        for topic in &self.topics {
            let gone = self.scan(topic, filter, &mut collector).await?;
            unreadable += gone.unreadable;
            if gone.stopped {
                break;
            }
        }
        Ok(Scanned { matched: collector.matched, unreadable })
    }
}
