use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// What a peer did, as the driver checks it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Records handled or dead-lettered (or produced).
    pub records: u64,
    /// Bytes of their values, where the job counts them.
    pub bytes: u64,
    /// The sum of the amounts of orders handled.
    pub sum: i64,
    /// Records that could not be decoded.
    pub decode: u64,
    /// Orders that the handler refused.
    pub refused: u64,
    /// Attempts that failed and were repeated.
    pub retries: u64,
    /// Orders that came out of order within their partition.
    pub disorder: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.records += other.records;
        self.bytes += other.bytes;
        self.sum += other.sum;
        self.decode += other.decode;
        self.refused += other.refused;
        self.retries += other.retries;
        self.disorder += other.disorder;
    }
}

/// Wall and CPU time from the first poll on.
pub struct Stopwatch {
    start: Instant,
    cpu: f64,
}

impl Stopwatch {
    /// To be called when the client is made and the next thing is its first poll.
    pub fn start() -> Self {
        Self { start: Instant::now(), cpu: cpu_seconds() }
    }

    /// Prints the line that the driver reads: times in seconds, the peak of resident memory in KiB.
    pub fn finish(self, tally: Tally) {
        let wall = self.start.elapsed().as_secs_f64();
        let whole = cpu_seconds();
        let cpu = whole - self.cpu;
        let Tally { records, bytes, sum, decode, refused, retries, disorder } = tally;
        println!(
            "RESULT wall={wall:.6} cpu={cpu:.6} cpu_whole={whole:.6} rss={} records={records} bytes={bytes} sum={sum} \
             decode={decode} refused={refused} retries={retries} disorder={disorder}",
            peak_kib()
        );
    }
}

/// User and system time of the whole process so far; 0 where the system doesn't tell.
fn cpu_seconds() -> f64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return 0.0 };
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6
}

/// From /proc rather than `ru_maxrss`, which a process inherits from the one that started it.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
