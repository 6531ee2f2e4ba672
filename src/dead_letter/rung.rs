/// How much of the original a dead letter keeps.
///
/// A broker that refuses a dead letter for good (too large, an invalid record) would refuse it again, so the next rung is
/// tried: never dropped, never looped on. Every rung but the first is flagged by the header `bezoar.truncated`, which
/// lists what was left out; a null value beside it is not a tombstone. The original is still where the context says, as
/// long as its topic keeps it.
///
/// | rung | key | value | user headers | context | `bezoar.truncated` |
/// |---|---|---|---|---|---|
/// | `Full` | yes | yes | yes | yes | – |
/// | `WithoutValue` | yes | – | yes | yes | `value` |
/// | `WithoutUserHeaders` | yes | yes | – | yes | `headers` |
/// | `KeyAndContext` | yes | – | – | yes | `value,headers` |
/// | `ContextOnly` | – | – | – | without backtrace and envelope | `key,value,headers,backtrace` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Rung {
    /// All of it.
    #[default]
    Full,
    /// Key, user headers and context.
    WithoutValue,
    /// Key, value and context.
    WithoutUserHeaders,
    /// Key and context.
    KeyAndContext,
    /// The context alone, without its backtrace.
    ContextOnly,
}

impl Rung {
    const ALL: [Rung; 5] =
        [Rung::Full, Rung::WithoutValue, Rung::WithoutUserHeaders, Rung::KeyAndContext, Rung::ContextOnly];

    /// The next rung down; `None` below the last one.
    pub fn next(self) -> Option<Rung> {
        Rung::ALL.into_iter().find(|rung| *rung > self)
    }

    /// Whether the key is kept.
    pub fn keeps_key(self) -> bool {
        self != Rung::ContextOnly
    }

    /// Whether the value is kept.
    pub fn keeps_value(self) -> bool {
        matches!(self, Rung::Full | Rung::WithoutUserHeaders)
    }

    /// Whether the user's headers are kept.
    pub fn keeps_headers(self) -> bool {
        matches!(self, Rung::Full | Rung::WithoutValue)
    }

    /// Whether the backtrace is kept.
    pub fn keeps_backtrace(self) -> bool {
        self != Rung::ContextOnly
    }

    /// The value of the header `bezoar.truncated`; `None` where nothing was left out.
    pub fn truncated(self) -> Option<&'static str> {
        match self {
            Rung::Full => None,
            Rung::WithoutValue => Some("value"),
            Rung::WithoutUserHeaders => Some("headers"),
            Rung::KeyAndContext => Some("value,headers"),
            Rung::ContextOnly => Some("key,value,headers,backtrace"),
        }
    }

    /// The rung that `truncated` flags; text that no rung writes is read as the lowest, which promises nothing.
    pub(crate) fn flagged_by(truncated: &str) -> Self {
        Rung::ALL.into_iter().find(|rung| rung.truncated() == Some(truncated)).unwrap_or(Rung::ContextOnly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_leads_down_and_ends() {
        let rungs: Vec<Rung> = std::iter::successors(Some(Rung::Full), |rung| rung.next()).collect();
        assert_eq!(rungs, Rung::ALL);
        for rung in &rungs[1..] {
            assert_eq!(Rung::flagged_by(rung.truncated().unwrap()), *rung);
        }
        assert_eq!(Rung::flagged_by("everything"), Rung::ContextOnly);
    }
}
