use std::sync::Arc;
use std::time::Duration;

use rskafka::record::RecordAndOffset;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::clients::{Clients, Lease, bound};
use super::convert::batch;
use super::cursor::{Cursor, Next};
use super::error::{translate, undecodable};
use crate::broker::native::Native;
use crate::broker::outlet::Outlet;
use crate::broker::{Admin, BrokerError, ErrorCode, Feed, OffsetSpec, SourceProblem};
use crate::record::{RecordBatch, TopicPartition};

/// How often the topic's id is looked at.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// After so long without an answer to a fetch (the feed was full, say) it is looked at first. A topic that is deleted and
/// created anew while fetches come and go shows in their errors; during a pause nothing would.
const CHECK_AFTER_PAUSE: Duration = Duration::from_millis(500);
/// The pause after a first failure, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Reads one partition into its feed.
pub(super) struct Reader {
    partition: TopicPartition,
    topic_id: Option<Uuid>,
    outlet: Arc<Outlet>,
    clients: Arc<Clients>,
    native: Native,
    cursor: Cursor,
    lease: Option<Lease>,
    checked: Instant,
    /// When a fetch was last answered.
    answered: Instant,
    retrying: bool,
    /// Whether the last fetch found nothing: the topic may have become another one while nobody looked.
    idle: bool,
}

/// Why a round did not end well.
enum Trouble {
    /// It may next time.
    ForNow(BrokerError),
    /// It never will, or somebody else must decide how to go on.
    Stop(SourceProblem),
}

impl From<BrokerError> for Trouble {
    fn from(error: BrokerError) -> Self {
        Self::ForNow(error)
    }
}

impl Reader {
    pub(super) fn new(
        partition: TopicPartition,
        topic_id: Option<Uuid>,
        offset: i64,
        outlet: Arc<Outlet>,
        clients: Arc<Clients>,
        native: Native,
    ) -> Self {
        let cursor = Cursor::new(offset, clients.settings.fetch_max_bytes);
        let now = Instant::now();
        Self {
            partition,
            topic_id,
            outlet,
            clients,
            native,
            cursor,
            lease: None,
            checked: now,
            answered: now,
            retrying: false,
            idle: false,
        }
    }

    /// Reads until the feed is closed or a problem ends the reading.
    pub(super) async fn run(mut self, feed: Arc<Feed>) {
        tokio::select! {
            biased;
            () = feed.closed() => {}
            () = self.read(&feed) => {}
        }
        // Nobody may remove the partition for long: the feed is not to be kept for that.
        self.outlet.shut();
    }

    async fn read(&mut self, feed: &Feed) {
        let mut pause = FIRST_PAUSE;
        while let Some(credit) = feed.wait_for_credit().await {
            match self.round(feed, credit).await {
                Ok(()) => pause = FIRST_PAUSE,
                Err(Trouble::ForNow(error)) => {
                    tracing::debug!(partition = %self.partition, %error, ?pause, "reading fails for now");
                    if !std::mem::replace(&mut self.retrying, true) {
                        self.report(SourceProblem::Retrying(error));
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(Trouble::Stop(problem)) => {
                    self.tell(true);
                    return self.report(problem);
                }
            }
        }
    }

    /// One fetch, and what follows from its answer.
    async fn round(&mut self, feed: &Feed, credit: usize) -> Result<(), Trouble> {
        if self.checked.elapsed() >= CHECK_EVERY || self.answered.elapsed() >= CHECK_AFTER_PAUSE {
            self.check_topic().await?;
        }
        let lease = match self.lease.take() {
            Some(lease) => lease,
            None => self.connect().await?,
        };
        let settings = &self.clients.settings;
        let doing = format!("reading {} at offset {}", self.partition, self.cursor.offset());
        let max_bytes = self.cursor.max_bytes(credit);
        let max_wait = settings.fetch_max_wait;
        let wait_millis = i32::try_from(max_wait.as_millis()).unwrap_or(i32::MAX);
        // The range's end is exclusive.
        let bytes = 1..max_bytes.saturating_add(1);
        let fetch = lease.partition.fetch_records(self.cursor.offset(), bytes, wait_millis);
        let error = match bound(&doing, max_wait + settings.request_timeout, fetch).await {
            Ok(Ok((records, high_watermark))) => {
                self.lease = Some(lease);
                self.answered = Instant::now();
                self.recovered();
                feed.set_log_end(high_watermark);
                return self.take(records, high_watermark).await;
            }
            Ok(Err(error)) => error,
            Err(timeout) => {
                // A call that was cut short may leave its connection in any state.
                self.clients.give_up(&lease).await;
                return Err(timeout.into());
            }
        };
        if let Some(undecodable) = undecodable(&error) {
            if undecodable.connection_lost {
                self.clients.give_up(&lease).await;
            } else {
                self.lease = Some(lease);
            }
            if matches!(self.cursor.on_undecodable(max_bytes, undecodable.control), Next::Stop) {
                return Err(Trouble::Stop(SourceProblem::Failed(unreadable(doing, &undecodable.cause))));
            }
            self.tell(false);
            return Ok(());
        }
        let error = translate(&doing, &error);
        self.clients.give_up(&lease).await;
        self.check_topic().await?;
        if error.code() == Some(ErrorCode::OFFSET_OUT_OF_RANGE) {
            self.judge_range().await?;
        }
        Err(error.into())
    }

    /// Takes what a fetch brought.
    async fn take(&mut self, records: Vec<RecordAndOffset>, high_watermark: i64) -> Result<(), Trouble> {
        if let Some(last) = records.last() {
            if self.idle {
                self.check_topic().await?;
                self.idle = false;
            }
            self.cursor.on_records(last.offset);
            self.push(batch(&self.partition, self.topic_id, &records, self.cursor.offset()));
            return Ok(());
        }
        self.idle = true;
        match self.cursor.on_empty(high_watermark) {
            Next::AskStableEnd => {
                let end = self.native.stable_end(self.partition.clone()).await?;
                self.cursor.set_stable_end(end);
            }
            Next::Doubt => self.check_topic().await?,
            Next::Fetch | Next::Stop => {}
        }
        self.tell(high_watermark <= self.cursor.offset());
        Ok(())
    }

    async fn connect(&mut self) -> Result<Lease, Trouble> {
        let (lease, id) = self.clients.lease(&self.partition).await?;
        self.compare(id)?;
        Ok(lease)
    }

    /// Looks whether the topic is still the one whose offsets we count.
    async fn check_topic(&mut self) -> Result<(), Trouble> {
        let name = self.partition.topic().to_owned();
        match self.native.topics(vec![name]).await?.pop().flatten() {
            Some(topic) => self.compare(topic.id),
            None => {
                let doing = format!("reading {}", self.partition);
                let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
                Err(BrokerError::Response { doing, code, message: None }.into())
            }
        }
    }

    fn compare(&mut self, id: Option<Uuid>) -> Result<(), Trouble> {
        self.checked = Instant::now();
        match (self.topic_id, id) {
            (Some(before), Some(now)) if before != now => Err(Trouble::Stop(SourceProblem::TopicRecreated)),
            _ => Ok(()),
        }
    }

    /// The broker says that the offset is out of range: stops if it still is.
    async fn judge_range(&self) -> Result<(), Trouble> {
        let asked = self.cursor.offset();
        let start = self.native.offset(self.partition.clone(), OffsetSpec::Earliest).await?;
        let end = self.native.offset(self.partition.clone(), OffsetSpec::Latest).await?;
        if (start..=end).contains(&asked) {
            return Ok(());
        }
        Err(Trouble::Stop(SourceProblem::OffsetOutOfRange { asked, log_start: Some(start), log_end: Some(end) }))
    }

    /// Tells the feed of offsets that were stepped over, so that the watermark can pass them.
    fn tell(&mut self, idle: bool) {
        if let Some(offset) = self.cursor.to_tell(idle) {
            self.push(batch(&self.partition, self.topic_id, &[], offset));
        }
    }

    fn push(&mut self, batch: RecordBatch) {
        self.cursor.told();
        // A closed feed takes nothing, and ends the reading at the next look at its credit.
        self.outlet.with_feed(|feed| {
            feed.push(batch);
        });
    }

    fn recovered(&mut self) {
        if std::mem::take(&mut self.retrying) {
            self.report(SourceProblem::Recovered);
        }
    }

    fn report(&self, problem: SourceProblem) {
        self.outlet.report(problem);
    }
}

fn unreadable(doing: String, cause: &str) -> BrokerError {
    BrokerError::Unsupported {
        doing,
        remedy: format!(
            "the rskafka adapter cannot read the batch there ({cause}), which takes the native adapter; \
             see docs/limits.md for what can be done now"
        ),
    }
}
