use super::entry::Entry;

/// What a listing gives.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Listing {
    /// The dead letters, at most as many as asked for.
    pub entries: Vec<Entry>,
    /// How many fit in all; more than there are entries where the limit was reached.
    pub matched: u64,
}

impl Listing {
    /// Whether more fit than are listed.
    pub fn has_more(&self) -> bool {
        self.matched > self.entries.len() as u64
    }
}
