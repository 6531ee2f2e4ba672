use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::super::Native;
use super::super::cluster::Cluster;
use super::message::Then;
use super::reading::Reading;
use crate::broker::{Admin, BrokerError, ErrorCode, OffsetSpec, SourceProblem};

/// A broker says that the offset is not in the log: asks the leader where that begins and ends, and ends the reading if it
/// is so.
pub(super) async fn judge(cluster: Arc<Cluster>, reading: &mut Reading) -> Then {
    let native = Native { cluster, runtime: Handle::current() };
    let asked = reading.position.offset;
    let bounds = bounds(&native, reading).await;
    // Asking for the leader has brought fresh metadata.
    let found = native.cluster.leaders.of(&reading.partition).and_then(|found| found.ok()?.topic_id);
    if matches!((reading.topic_id, found), (Some(known), Some(found)) if known != found) {
        return Then::Again { due: Instant::now(), stale: true };
    }
    let pause = match bounds {
        Ok((start, end)) if !(start..=end).contains(&asked) => {
            let problem = SourceProblem::OffsetOutOfRange { asked, log_start: Some(start), log_end: Some(end) };
            reading.stop(problem);
            return Then::End;
        }
        // A follower, or a leader that has just begun, knew less.
        Ok(_) => reading.failed(reading.response(ErrorCode::OFFSET_OUT_OF_RANGE)),
        Err(error) => reading.failed(error),
    };
    Then::Again { due: Instant::now() + pause, stale: true }
}

async fn bounds(native: &Native, reading: &Reading) -> Result<(i64, i64), BrokerError> {
    let start = native.offset(reading.partition.clone(), OffsetSpec::Earliest).await?;
    let end = native.offset(reading.partition.clone(), OffsetSpec::Latest).await?;
    Ok((start, end))
}
