use std::any::type_name;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::policy::Category;

/// Why a record could not be handled: any error, and what is known about it.
///
/// `?` turns every `std::error::Error` into a `Failure`; the classifier then finds its category by type and text. Where
/// the handler knows better it states the category, which nothing overrules:
///
/// ```
/// use std::time::Duration;
/// use bezoar::handler::Failure;
///
/// fn reserve(total: &str) -> Result<u32, Failure> {
///     let total = total.parse()?; // classified by its type: validation
///     match total {
///         0 => Err(Failure::validation("an order must cost something")),
///         1..=9 => Err(Failure::dependency("inventory").caused_by("no free connection")),
///         10..=99 => Err(Failure::transient("sold out for now").retry_after(Duration::from_secs(5))),
///         _ => Ok(total),
///     }
/// }
/// assert_eq!(reserve("x").unwrap_err().to_string(), "invalid digit found in string");
/// assert_eq!(reserve("5").unwrap_err().to_string(), "dependency inventory failed: no free connection");
/// ```
///
/// Like `anyhow::Error` it does not implement `std::error::Error` itself, since `?` could not take every error then.
/// `Display` and `Debug` show the whole chain of causes. A backtrace is captured where the failure is made if
/// `RUST_BACKTRACE` or `RUST_LIB_BACKTRACE` ask for it, by the standard library's rules.
pub struct Failure {
    // Boxed, so that a handler's `Result` stays small.
    inner: Box<Inner>,
}

struct Inner {
    /// Outermost last.
    contexts: Vec<String>,
    error: Option<Box<dyn Error + Send + Sync>>,
    error_type: &'static str,
    named: Option<Cow<'static, str>>,
    category: Option<Category>,
    dependency: Option<String>,
    retry_after: Option<Duration>,
    backtrace: Backtrace,
}

/// The reported type of failures that were made from text.
const UNTYPED: &str = "Failure";

impl Failure {
    /// A failure whose category the classifier finds. Takes an error or a text.
    pub fn new<E: Into<Box<dyn Error + Send + Sync>>>(error: E) -> Self {
        Self::make(Some(error.into()), reported_type::<E>())
    }

    /// A failure of category [`Category::Validation`]: the record is wrong.
    pub fn validation<E: Into<Box<dyn Error + Send + Sync>>>(error: E) -> Self {
        Self::new(error).category(Category::Validation)
    }

    /// A failure of category [`Category::Transient`]: trying again soon may help.
    pub fn transient<E: Into<Box<dyn Error + Send + Sync>>>(error: E) -> Self {
        Self::new(error).category(Category::Transient)
    }

    /// A failure of category [`Category::Dependency`] that names the service; add what it said with
    /// [`caused_by`](Self::caused_by).
    pub fn dependency(name: impl Into<String>) -> Self {
        let mut failure = Self::make(None, UNTYPED).category(Category::Dependency);
        failure.inner.dependency = Some(name.into());
        failure
    }

    /// A failure of category [`Category::Poison`]: the record endangers the process.
    pub fn poison<E: Into<Box<dyn Error + Send + Sync>>>(error: E) -> Self {
        Self::new(error).category(Category::Poison)
    }

    /// A failure of category [`Category::Unknown`], kept from the classifier's rules.
    pub fn unknown<E: Into<Box<dyn Error + Send + Sync>>>(error: E) -> Self {
        Self::new(error).category(Category::Unknown)
    }

    fn make(error: Option<Box<dyn Error + Send + Sync>>, error_type: &'static str) -> Self {
        Self {
            inner: Box::new(Inner {
                contexts: Vec::new(),
                error,
                error_type,
                named: None,
                category: None,
                dependency: None,
                retry_after: None,
                backtrace: Backtrace::capture(),
            }),
        }
    }

    /// States the category; neither the user's classifier nor the rules are asked then.
    pub fn category(mut self, category: Category) -> Self {
        self.inner.category = Some(category);
        self
    }

    /// Sets the error behind this failure, in place of one that it had. Takes an error or a text.
    pub fn caused_by<E: Into<Box<dyn Error + Send + Sync>>>(mut self, error: E) -> Self {
        self.inner.error = Some(error.into());
        self.inner.error_type = reported_type::<E>();
        self
    }

    /// Asks for the next attempt after `delay`, in place of the backoff. It counts against the category's retries like
    /// any other attempt, and is bounded by [`Policies::retry_after_cap`](crate::policy::Policies::retry_after_cap).
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.inner.retry_after = Some(delay);
        self
    }

    /// Says what was being done; shown before what is there already.
    pub fn context(mut self, doing: impl Into<String>) -> Self {
        self.inner.contexts.push(doing.into());
        self
    }

    /// Sets the error type to report, in place of the Rust type's name and of registered types.
    pub fn error_type(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.inner.named = Some(name.into());
        self
    }

    /// The category that was stated.
    pub fn stated_category(&self) -> Option<Category> {
        self.inner.category
    }

    /// The dependency that was named.
    pub fn dependency_name(&self) -> Option<&str> {
        self.inner.dependency.as_deref()
    }

    /// The wait that was asked for.
    pub fn asked_delay(&self) -> Option<Duration> {
        self.inner.retry_after
    }

    /// The error type to report: as set, else the Rust name of the outermost error, or `Failure` where there was only a
    /// text.
    pub fn type_name(&self) -> &str {
        self.named_type().unwrap_or(self.inner.error_type)
    }

    /// The error type that was set by [`error_type`](Self::error_type).
    pub(crate) fn named_type(&self) -> Option<&str> {
        self.inner.named.as_deref()
    }

    /// The outermost error; `None` where there is none, as in a bare [`dependency`](Self::dependency).
    pub fn error(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.error.as_deref().map(|error| error as &(dyn Error + 'static))
    }

    /// The backtrace from where the failure was made, if it was enabled.
    pub fn backtrace(&self) -> Option<&Backtrace> {
        let backtrace = &self.inner.backtrace;
        (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace)
    }

    /// What stands before the errors of the chain: contexts, outermost first, then the dependency.
    pub(crate) fn headings(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let dependency = self.inner.dependency.as_ref().map(|name| Cow::Owned(format!("dependency {name} failed")));
        self.inner.contexts.iter().rev().map(|context| Cow::Borrowed(context.as_str())).chain(dependency)
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::chain::Chain::of(self).message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.type_name())?;
        if let Some(category) = self.inner.category {
            write!(f, " ({category})")?;
        }
        match self.backtrace() {
            Some(backtrace) => write!(f, "\n{backtrace}"),
            None => Ok(()),
        }
    }
}

/// The name to report for errors of type `E`: the public path for the standard library's types, `Failure` for texts and
/// for boxed errors (whose type cannot be named any more), else the name as the compiler writes it.
fn reported_type<E>() -> &'static str {
    let name = type_name::<E>();
    let untyped = [
        type_name::<&str>(),
        type_name::<String>(),
        type_name::<Cow<'_, str>>(),
        type_name::<Box<str>>(),
        type_name::<Box<dyn Error>>(),
        type_name::<Box<dyn Error + Send>>(),
        type_name::<Box<dyn Error + Send + Sync>>(),
    ];
    if untyped.contains(&name) {
        return UNTYPED;
    }
    // The compiler's names lead through private modules, which change from release to release.
    let public = [
        (type_name::<std::io::Error>(), "std::io::Error"),
        (type_name::<std::fmt::Error>(), "std::fmt::Error"),
        (type_name::<std::str::Utf8Error>(), "std::str::Utf8Error"),
        (type_name::<std::string::FromUtf8Error>(), "std::string::FromUtf8Error"),
        (type_name::<std::num::ParseIntError>(), "std::num::ParseIntError"),
        (type_name::<std::num::ParseFloatError>(), "std::num::ParseFloatError"),
        (type_name::<std::num::TryFromIntError>(), "std::num::TryFromIntError"),
        (type_name::<std::net::AddrParseError>(), "std::net::AddrParseError"),
        (type_name::<std::collections::TryReserveError>(), "std::collections::TryReserveError"),
        (type_name::<tokio::time::error::Elapsed>(), "tokio::time::error::Elapsed"),
    ];
    public.iter().find(|(private, _)| *private == name).map_or(name, |(_, public)| public)
}
