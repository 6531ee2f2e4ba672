use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// Error types with stable names to report, found anywhere in the chain of a failure.
///
/// Without an entry the outermost error's Rust name is reported, which says little where every error is wrapped in the
/// same enum. `serde_json::Error` is registered by default. An error behind `#[error(transparent)]` cannot be found: the
/// wrapper passes it over in `source()`; write `#[error("…")]` with `#[source]` or `#[from]` instead.
///
/// ```
/// use bezoar::classifier::ErrorTypes;
///
/// let types = ErrorTypes::default().register::<std::net::AddrParseError>("BadAddress");
/// ```
#[derive(Clone)]
pub struct ErrorTypes {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    name: Cow<'static, str>,
    is: fn(&(dyn Error + 'static)) -> bool,
}

impl Default for ErrorTypes {
    fn default() -> Self {
        Self::empty().register::<serde_json::Error>("serde_json::Error")
    }
}

impl ErrorTypes {
    /// No types at all, without `serde_json::Error` too.
    pub fn empty() -> Self {
        Self { entries: Vec::new() }
    }

    /// Registers `E` under `name`. The last registration of a type holds.
    pub fn register<E: Error + 'static>(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.entries.insert(0, Entry { name: name.into(), is: |error| error.is::<E>() });
        self
    }

    /// The name of `error`'s own type, its causes left aside.
    pub(super) fn name_of(&self, error: &(dyn Error + 'static)) -> Option<&str> {
        self.entries.iter().find(|entry| (entry.is)(error)).map(|entry| &*entry.name)
    }
}

impl fmt::Debug for ErrorTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| &entry.name)).finish()
    }
}
