use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::super::Native;
use super::super::call::Call;
use super::super::cluster::Cluster;
use super::message::{Doubt, Then};
use super::reading::Reading;
use crate::broker::{Admin, BrokerError, ErrorCode, OffsetSpec, SourceProblem};

/// Asks the leader about a doubt, and ends the reading if that is right.
///
/// It may only look so: fetches that name topics by name find offsets and epochs of a topic that was created anew, whose log
/// is another one.
pub(super) async fn resolve(cluster: Arc<Cluster>, reading: &mut Reading, doubt: Doubt) -> Then {
    let native = Native { cluster, runtime: Handle::current() };
    let asked = reading.position.offset;
    let bounds = bounds(&native, reading).await;
    let topic = reading.partition.topic().to_owned();
    let call = Call::new(format!("reading metadata of {topic}"), native.cluster.settings.request_timeout);
    if let Err(error) = native.cluster.refresh(&call, &[topic]).await {
        return again(reading, error);
    }
    let found = native.cluster.leaders.of(&reading.partition).and_then(|found| found.ok()?.topic_id);
    if matches!((reading.topic_id, found), (Some(known), Some(found)) if known != found) {
        return Then::Again { due: Instant::now(), stale: true };
    }
    let problem = match (bounds, doubt) {
        (Ok(_), Doubt::Truncated { diverged_at }) => SourceProblem::LogTruncated { asked, diverged_at },
        (Ok((start, end)), Doubt::OutOfRange) if !(start..=end).contains(&asked) => {
            SourceProblem::OffsetOutOfRange { asked, log_start: Some(start), log_end: Some(end) }
        }
        // The leader has no record of the epoch of what was read, or of a later one, so that there is nothing to compare with.
        (Ok(_), Doubt::OutOfRange) if reading.failures > 0 && reading.position.epoch.is_some() => {
            reading.position.epoch = None;
            tracing::warn!(
                partition = %reading.partition,
                offset = asked,
                "the partition's leader does not know the leader epoch of what was read before: whether the log was cut back \
                 since cannot be told"
            );
            return Then::Again { due: Instant::now(), stale: true };
        }
        // A follower, or a leader that has just begun, knew less.
        (Ok(_), Doubt::OutOfRange) => return again(reading, reading.response(ErrorCode::OFFSET_OUT_OF_RANGE)),
        (Err(error), _) => return again(reading, error),
    };
    reading.stop(problem);
    Then::End
}

fn again(reading: &mut Reading, error: BrokerError) -> Then {
    let pause = reading.failed(error);
    Then::Again { due: Instant::now() + pause, stale: true }
}

async fn bounds(native: &Native, reading: &Reading) -> Result<(i64, i64), BrokerError> {
    let start = native.offset(reading.partition.clone(), OffsetSpec::Earliest).await?;
    let end = native.offset(reading.partition.clone(), OffsetSpec::Latest).await?;
    Ok((start, end))
}
