/// What a partition actor is told. Records do not travel in messages: they wait in the feed.
#[derive(Debug)]
pub(crate) enum PartitionMessage {
    /// There may be something to read in the feed, or the ownership is stopping.
    Run,
}
