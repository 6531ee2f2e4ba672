use std::borrow::Cow;
use std::convert::Infallible;
use std::error::Error;

use super::failure::Failure;

/// An error that handlers and decoders may return.
///
/// [`Failure`] implements it, so a handler whose error is `Failure` can use `?` on anything. For an enum of your own,
/// name the category per variant and keep the error itself as the cause, so that its chain and type are reported:
///
/// ```
/// use bezoar::handler::{Failure, IntoFailure};
/// use bezoar::policy::Category;
///
/// #[derive(Debug, thiserror::Error)]
/// enum OrderError {
///     #[error("order has no items")]
///     Empty,
///     #[error("inventory is unavailable")]
///     Inventory(#[source] std::io::Error),
///     #[error("reading the order failed")]
///     Other(#[from] serde_json::Error),
/// }
///
/// impl IntoFailure for OrderError {
///     fn into_failure(self) -> Failure {
///         match self {
///             OrderError::Empty => Failure::new(self).category(Category::Validation),
///             OrderError::Inventory(_) => Failure::dependency("inventory").caused_by(self),
///             // No category stated: the classifier finds it.
///             OrderError::Other(_) => Failure::new(self),
///         }
///     }
/// }
/// # assert_eq!(OrderError::Empty.into_failure().to_string(), "order has no items");
/// # assert!(OrderError::Empty.into_failure().type_name().ends_with("::OrderError"));
/// ```
///
/// There is no blanket implementation, so both exist side by side.
pub trait IntoFailure: Send + 'static {
    /// Says what is known about the error.
    fn into_failure(self) -> Failure;
}

impl IntoFailure for Failure {
    fn into_failure(self) -> Failure {
        self
    }
}

impl IntoFailure for Infallible {
    fn into_failure(self) -> Failure {
        match self {}
    }
}

impl IntoFailure for () {
    fn into_failure(self) -> Failure {
        Failure::new("the handler failed and gave no reason")
    }
}

/// Errors and texts about which nothing more is known: the classifier decides.
macro_rules! plain {
    ($($type:ty),* $(,)?) => {
        $(impl IntoFailure for $type {
            fn into_failure(self) -> Failure {
                Failure::new(self)
            }
        })*
    };
}

plain! {
    serde_json::Error,
    std::io::Error,
    std::str::Utf8Error,
    std::string::FromUtf8Error,
    std::num::ParseIntError,
    std::num::ParseFloatError,
    tokio::time::error::Elapsed,
    Box<dyn Error + Send + Sync>,
    String,
    &'static str,
    Cow<'static, str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_errors_keep_their_type_and_state_nothing() {
        let failure = serde_json::from_str::<u32>("x").unwrap_err().into_failure();
        assert!(failure.error().unwrap().is::<serde_json::Error>());
        assert_eq!(failure.stated_category(), None);
        assert_eq!(std::io::Error::other("x").into_failure().type_name(), "std::io::Error");
        assert_eq!("out of stock".into_failure().type_name(), "Failure");
        let boxed: Box<dyn Error + Send + Sync> = Box::new(std::io::Error::other("x"));
        assert!(boxed.into_failure().error().unwrap().is::<std::io::Error>());
        assert!(!().into_failure().to_string().is_empty());
    }
}
