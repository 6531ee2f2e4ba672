use std::time::Duration;

use crate::isolation::guard::PanicReport;
use crate::record::Record;

/// Why a partition actor ended; what the supervisor gets through the actor's failure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PartitionError {
    /// The record in flight took the handler down.
    #[error("{record:?}: {}", .fault.describe())]
    Fault { record: Record, fault: Fault },
    /// The handler or a part of the framework could not go on, through no fault of the record.
    #[error("{reason}")]
    Infrastructure { reason: String },
}

/// How a record took its handler down.
#[derive(Debug)]
pub(crate) enum Fault {
    Panic(Box<PanicReport>),
    /// It exceeded the poison timeout.
    Timeout {
        limit: Duration,
        /// How many records that it sent onward were not acknowledged by then: the broker, not the record, is slow.
        unacknowledged: usize,
    },
}

impl Fault {
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Panic(report) => format!("panicked: {}", report.message),
            Self::Timeout { limit, .. } => format!("processing timed out after {}", humantime::format_duration(*limit)),
        }
    }
}
