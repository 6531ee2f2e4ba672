use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::driver::{Driver, topics};
use super::found::Letters;
use super::ledger::Ledger;
use super::machine::{Machine, Settings};
use super::targets::Targets;
use crate::producer::Producer;
use crate::replay::{DeadLetters, Progress, ReplayError, ReplayOptions, ReplayReport, Selection};

/// Below this a claim would be over before the letter is sent.
const LEAST_LEASE: Duration = Duration::from_secs(1);

/// Asks a run to end before it has come to its end.
pub(in crate::replay) struct Asked<'a> {
    pub(super) signal: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    /// Told how many records are on their way then, and are waited for.
    pub(super) heard: Box<dyn FnOnce(u64) + Send + 'a>,
}

impl<'a> Asked<'a> {
    pub(in crate::replay) fn new(signal: impl Future + Send + 'a, heard: impl FnOnce(u64) + Send + 'a) -> Self {
        Self { signal: Box::pin(signal.map(drop)), heard: Box::new(heard) }
    }
}

/// Replays the letters that are meant, until it is asked to stop.
pub(in crate::replay) async fn replay(
    letters: &DeadLetters,
    selection: &Selection,
    options: &ReplayOptions,
    progress: impl FnMut(&Progress) + Send,
    mut asked: Asked<'_>,
) -> Result<ReplayReport, ReplayError> {
    let looking = async {
        let ledger = Ledger::read(&letters.ports, &topics(letters, selection)).await?;
        let found = Letters::find((&letters.ports, &ledger), selection, options.again).await?;
        Ok::<_, ReplayError>((ledger, found))
    };
    let (ledger, found) = tokio::select! {
        biased;
        () = &mut asked.signal => {
            (asked.heard)(0);
            return Ok(ReplayReport { stopped: true, ..ReplayReport::default() });
        }
        looked = looking => looked?,
    };
    let lease = options.claim_lease.max(LEAST_LEASE);
    let settings = Settings {
        in_flight: options.in_flight.get() as usize,
        interval: options.rate.map(|rate| Duration::from_secs(1) / rate.get()),
        lease,
    };
    let driver = Driver {
        run: letters,
        options,
        lease: i64::try_from(lease.as_millis()).unwrap_or(i64::MAX),
        targets: Targets::new(Arc::clone(&letters.ports.admin)),
        producer: Producer::new(letters.ports.clone(), Handle::current()),
        ledger,
        found,
        exhausted: false,
        machine: Machine::new(settings),
        jobs: BTreeMap::new(),
        sends: FuturesUnordered::new(),
        write: None,
        started: Instant::now(),
        waiting: None,
        asked: Some(asked),
        report: ReplayReport::default(),
        progress,
    };
    driver.run().await
}
