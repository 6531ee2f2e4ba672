use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::broker::BoxFuture;

/// Why no token could be had.
pub type TokenError = Box<dyn std::error::Error + Send + Sync>;

/// A bearer token for SASL OAUTHBEARER. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    pub(crate) value: Arc<str>,
    pub(crate) extensions: Vec<(String, String)>,
    pub(crate) valid_for: Option<Duration>,
}

impl Token {
    /// A token, as it goes into an HTTP `Authorization: Bearer` header. Without a
    /// [lifetime](Self::valid_for) it is used once.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self { value: value.into(), extensions: Vec::new(), valid_for: None }
    }

    /// How long the token is valid from now. Connections share it for four fifths of that time; then a new one is
    /// asked for.
    pub fn valid_for(mut self, lifetime: Duration) -> Self {
        self.valid_for = Some(lifetime);
        self
    }

    /// Adds a SASL extension, such as `logicalCluster`. Its name is of ASCII letters; `auth` is taken.
    pub fn extension(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.extensions.push((name.into(), value.into()));
        self
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Gives bearer tokens. Closures that return a future do.
pub trait TokenProvider: Send + Sync + 'static {
    /// A valid token. Called on the runtime of the connections, which it must not block; the time it takes counts
    /// towards the time to connect.
    fn token(&self) -> BoxFuture<Result<Token, TokenError>>;
}

impl<F, T> TokenProvider for F
where
    F: Fn() -> T + Send + Sync + 'static,
    T: Future<Output = Result<Token, TokenError>> + Send + 'static,
{
    fn token(&self) -> BoxFuture<Result<Token, TokenError>> {
        Box::pin(self())
    }
}

/// A provider and the token that all connections share while it is fresh.
#[derive(Clone)]
pub(crate) struct Tokens {
    provider: Arc<dyn TokenProvider>,
    shared: Arc<Mutex<Option<(Token, Instant)>>>,
}

impl Tokens {
    pub(crate) fn new(provider: Arc<dyn TokenProvider>) -> Self {
        Self { provider, shared: Arc::default() }
    }

    /// The shared token while it is fresh, else a new one. One call of the provider at a time.
    pub(crate) async fn token(&self) -> Result<Token, String> {
        let mut shared = self.shared.lock().await;
        if let Some((token, until)) = &*shared
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        *shared = None;
        // The user's code: a panic must not end the task that connects.
        let asked = AssertUnwindSafe(async { self.provider.token().await }).catch_unwind().await;
        let token = asked.map_err(|_| "it panicked".to_owned())?.map_err(|error| error.to_string())?;
        *shared = token.valid_for.map(|lifetime| (token.clone(), Instant::now() + lifetime.mul_f64(0.8)));
        Ok(token)
    }

    /// Lets go of the shared token, which the broker refused.
    pub(crate) async fn discard(&self) {
        *self.shared.lock().await = None;
    }
}

impl PartialEq for Tokens {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.provider, &other.provider)
    }
}

impl Eq for Tokens {}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn counting(lifetime: Option<Duration>) -> Tokens {
        let calls = AtomicU32::new(0);
        let provider = move || {
            let mut token = Token::new(format!("t{}", calls.fetch_add(1, Ordering::Relaxed)));
            token.valid_for = lifetime;
            std::future::ready(Ok(token))
        };
        Tokens::new(Arc::new(provider))
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_shared_for_four_fifths_of_its_life() {
        let tokens = counting(Some(Duration::from_secs(100)));
        assert_eq!(&*tokens.token().await.unwrap().value, "t0");
        tokio::time::advance(Duration::from_secs(79)).await;
        assert_eq!(&*tokens.token().await.unwrap().value, "t0");
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(&*tokens.token().await.unwrap().value, "t1");
        tokens.discard().await;
        assert_eq!(&*tokens.token().await.unwrap().value, "t2");
    }

    #[tokio::test]
    async fn a_token_without_a_lifetime_is_used_once() {
        let tokens = counting(None);
        assert_eq!(&*tokens.token().await.unwrap().value, "t0");
        assert_eq!(&*tokens.token().await.unwrap().value, "t1");
    }

    #[tokio::test]
    async fn failures_and_panics_of_a_provider_are_errors() {
        async fn failing() -> Result<Token, TokenError> {
            Err("no route to the issuer".into())
        }
        async fn panicking() -> Result<Token, TokenError> {
            panic!("bug")
        }
        assert_eq!(Tokens::new(Arc::new(failing)).token().await.unwrap_err(), "no route to the issuer");
        assert_eq!(Tokens::new(Arc::new(panicking)).token().await.unwrap_err(), "it panicked");
    }

    #[test]
    fn a_token_is_not_shown() {
        assert_eq!(format!("{:?}", Token::new("abc")), "Token(…)");
    }
}
