use std::error::Error;
use std::io;
use std::time::Duration;

use bezoar::handler::OriginError;
use bezoar::policy::Category;
use bezoar::{Failure, IntoFailure};
use tokio_postgres::error::SqlState;

/// Why an order could not be paid for, or what follows a payment could not be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayError {
    /// There is no connection, or it broke. If it broke during the commit, nobody knows whether the payment was made: the key
    /// tells at the next attempt.
    #[error("the connection failed")]
    Unreachable(#[source] tokio_postgres::Error),
    /// The database does not answer.
    #[error("no answer within {0:?}")]
    Slow(Duration),
    /// The program ends.
    #[error("the program ends")]
    Ending(#[from] tokio::task::JoinError),
    /// Another transaction was in the way, as that of a former owner of the partition may be.
    #[error("the payment collided with another")]
    Collision(#[source] tokio_postgres::Error),
    /// The order breaks a rule of the database.
    #[error("the order is refused")]
    Refused(#[source] tokio_postgres::Error),
    /// The same key came with something else: it was fixed before its replay, or its sender used an id twice.
    #[error("{key} was paid as {before:?} and came again as {now:?}")]
    Differs { key: String, before: String, now: String },
    /// Whether the record was replayed cannot be told for now.
    #[error("the order's key is not known")]
    Origin(#[from] OriginError),
    /// The payment is made, the rest is not.
    #[error("the order is paid for, but not confirmed")]
    Receipt(#[from] ReceiptError),
    /// Anything else that the database says: the classifier decides.
    #[error("the database failed")]
    Database(#[source] tokio_postgres::Error),
}

/// Why a receipt could not be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReceiptError {
    /// Trying again soon may help.
    #[error("the mail server is busy")]
    Busy,
    /// Trying again does not help.
    #[error("the customer has no address")]
    NoAddress,
}

impl IntoFailure for PayError {
    fn into_failure(self) -> Failure {
        match self {
            Self::Unreachable(_) | Self::Slow(_) => Failure::dependency("the payments database").caused_by(self),
            Self::Collision(_) | Self::Ending(_) | Self::Origin(_) | Self::Receipt(ReceiptError::Busy) => {
                Failure::transient(self)
            }
            Self::Refused(_) | Self::Differs { .. } | Self::Receipt(ReceiptError::NoAddress) => {
                Failure::validation(self)
            }
            Self::Database(_) => Failure::new(self),
        }
    }
}

impl From<tokio_postgres::Error> for PayError {
    fn from(error: tokio_postgres::Error) -> Self {
        let category = match error.code() {
            Some(code) => category(code),
            None if error.is_closed() || is_io(&error) => Some(Category::Dependency),
            None => None,
        };
        match category {
            Some(Category::Dependency) => Self::Unreachable(error),
            Some(Category::Transient) => Self::Collision(error),
            Some(Category::Validation) => Self::Refused(error),
            _ => Self::Database(error),
        }
    }
}

/// What PostgreSQL's code for an error says about the record: its first two characters are the class.
pub(crate) fn category(code: &SqlState) -> Option<Category> {
    match code.code() {
        // Serialization failure, deadlock, lock not available (lock_timeout), query cancelled (statement_timeout).
        "40001" | "40P01" | "55P03" | "57014" => Some(Category::Transient),
        // Shut down or killed by an administrator, crashed, starting up, ended for idling in a transaction; too many connections.
        "57P01" | "57P02" | "57P03" | "25P03" | "53300" => Some(Category::Dependency),
        code if code.starts_with("08") => Some(Category::Dependency), // the connection
        code if code.starts_with("22") => Some(Category::Validation), // a value that does not fit its type
        code if code.starts_with("23") => Some(Category::Validation), // a constraint
        _ => None,
    }
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if error.is::<io::Error>() {
            return true;
        }
        source = error.source();
    }
    false
}
