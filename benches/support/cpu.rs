use std::collections::HashMap;
use std::fs;

/// The CPU time that each thread alive now has used, in nanoseconds, by thread id; empty where the system doesn't tell
/// (anywhere but on Linux).
pub struct CpuTimes(HashMap<String, u64>);

impl CpuTimes {
    pub fn now() -> Self {
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        // A thread may end between listing and reading.
        let times = threads.filter_map(|thread| {
            let times = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            let used = times.split_whitespace().next()?.parse().ok()?;
            Some((thread.file_name().to_string_lossy().into_owned(), used))
        });
        Self(times.collect())
    }

    /// The CPU time used since `earlier` by the threads that are alive now; `None` where the system doesn't tell.
    pub fn since(&self, earlier: &Self) -> Option<u64> {
        let used = self.0.iter().map(|(thread, used)| used.saturating_sub(earlier.0.get(thread).copied().unwrap_or(0)));
        (!self.0.is_empty()).then(|| used.sum())
    }
}
