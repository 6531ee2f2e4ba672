use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ::metrics::{Histogram, HistogramFn, Key};

use crate::metrics::names::{self, Kind, Metric};

/// Bezoar's own histograms. Each value goes into its bucket at once.
///
/// The exporter keeps every single value until it is asked, and records many equal ones one by one: with fast handlers that would
/// cost as much as the framework does, and fill the memory while nobody asks.
#[derive(Default)]
pub(super) struct Histograms(Mutex<BTreeMap<&'static str, BTreeMap<String, Arc<Buckets>>>>);

/// How many buckets there are, the last for what is above all bounds.
const COUNT: usize = names::BUCKETS.len() + 1;

#[derive(Default)]
struct Buckets {
    counts: [AtomicU64; COUNT],
    /// In nanoseconds.
    sum: AtomicU64,
}

impl HistogramFn for Buckets {
    fn record(&self, seconds: f64) {
        self.record_many(seconds, 1);
    }

    fn record_many(&self, seconds: f64, count: usize) {
        if count == 0 {
            return;
        }
        let bucket = names::BUCKETS.partition_point(|bound| *bound < seconds);
        self.counts[bucket].fetch_add(count as u64, Ordering::Relaxed);
        self.sum.fetch_add((seconds * 1e9 * count as f64).round() as u64, Ordering::Relaxed);
    }
}

/// Which of Bezoar's histograms a name is, if any.
pub(super) fn own(name: &str) -> Option<&'static Metric> {
    names::ALL.iter().find(|metric| metric.kind == Kind::Histogram && metric.name == name)
}

impl Histograms {
    pub(super) fn register(&self, metric: &'static Metric, key: &Key) -> Histogram {
        let mut labels = String::new();
        for label in key.labels() {
            let _ = write!(labels, "{}=\"{}\",", label.key(), escape(label.value()));
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Histogram::from_arc(Arc::clone(all.entry(metric.name).or_default().entry(labels).or_default()))
    }

    /// In Prometheus's text format.
    pub(super) fn render(&self, text: &mut String) {
        for (name, series) in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let meaning = own(name).map_or("", |metric| metric.meaning);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {name} {meaning}\n# TYPE {name} histogram");
            for (labels, buckets) in series {
                let _ = buckets.render(name, labels, text);
            }
            text.push('\n');
        }
    }
}

impl Buckets {
    fn render(&self, name: &str, labels: &str, text: &mut String) -> std::fmt::Result {
        let mut below = 0;
        for (bound, count) in names::BUCKETS.iter().zip(&self.counts) {
            below += count.load(Ordering::Relaxed);
            writeln!(text, "{name}_bucket{{{labels}le=\"{bound}\"}} {below}")?;
        }
        // Of the same reading, so that the buckets of one answer agree with its count.
        below += self.counts[COUNT - 1].load(Ordering::Relaxed);
        let sum = self.sum.load(Ordering::Relaxed) as f64 / 1e9;
        let plain = labels.trim_end_matches(',');
        writeln!(text, "{name}_bucket{{{labels}le=\"+Inf\"}} {below}")?;
        writeln!(text, "{name}_sum{{{plain}}} {sum}\n{name}_count{{{plain}}} {below}")
    }
}

/// The value of a label as the format wants it.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use ::metrics::Label;

    use super::*;

    #[test]
    fn values_are_in_all_buckets_that_they_fit_into() {
        let histograms = Histograms::default();
        let labels = vec![Label::new("group", "a \"b\"\\c\nd"), Label::new("topic", "orders")];
        let key = Key::from_parts(names::HANDLER_DURATION.name, labels);
        let durations = histograms.register(own(key.name()).unwrap(), &key);
        durations.record_many(1e-6, 0);
        durations.record_many(1e-6, 32);
        durations.record(0.003);
        histograms.register(own(key.name()).unwrap(), &key).record(60.0);
        let mut text = String::new();
        histograms.render(&mut text);
        let labels = r#"group="a \"b\"\\c\nd",topic="orders""#;
        for line in [
            "# TYPE bezoar_handler_duration_seconds histogram".to_owned(),
            format!("bezoar_handler_duration_seconds_bucket{{{labels},le=\"0.000001\"}} 32"),
            format!("bezoar_handler_duration_seconds_bucket{{{labels},le=\"0.0025\"}} 32"),
            format!("bezoar_handler_duration_seconds_bucket{{{labels},le=\"0.005\"}} 33"),
            format!("bezoar_handler_duration_seconds_bucket{{{labels},le=\"30\"}} 33"),
            format!("bezoar_handler_duration_seconds_bucket{{{labels},le=\"+Inf\"}} 34"),
            format!("bezoar_handler_duration_seconds_sum{{{labels}}} 60.003032"),
            format!("bezoar_handler_duration_seconds_count{{{labels}}} 34"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
        }
        assert_eq!(own("another_seconds"), None);
        assert_eq!(own(names::HANDLED.name), None);
    }
}
