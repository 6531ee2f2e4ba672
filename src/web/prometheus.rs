use std::fmt;
use std::sync::Arc;

use ::metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use super::error::PrometheusError;
use super::histograms::{Histograms, own};

/// The metrics of the process, for Prometheus. Cheap to clone.
#[derive(Clone)]
pub struct Prometheus {
    exporter: PrometheusHandle,
    histograms: Arc<Histograms>,
}

/// Installs a recorder of the `metrics` facade for the process, from which Prometheus can be answered: Bezoar's metrics, and all
/// that other code tells the facade. Must be called **before consumers start**: those that run already tell it nothing.
///
/// Histograms are Prometheus's own, with Bezoar's [buckets](crate::metrics::names::BUCKETS) in seconds, so that instances can be
/// added up; those of other code become summaries.
///
/// # Errors
/// [`PrometheusError::AlreadyInstalled`] where the process has a recorder, this one included.
pub fn prometheus() -> Result<Prometheus, PrometheusError> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let (exporter, histograms) = (recorder.handle(), Arc::new(Histograms::default()));
    let recorder = Split { exporter: recorder, histograms: Arc::clone(&histograms) };
    ::metrics::set_global_recorder(recorder).map_err(|_| PrometheusError::AlreadyInstalled)?;
    Ok(Prometheus { exporter, histograms })
}

impl Prometheus {
    /// All metrics in Prometheus's text format.
    pub fn render(&self) -> String {
        let mut text = self.exporter.render();
        self.histograms.render(&mut text);
        text
    }

    /// Has the exporter put away the values of other code's histograms, which it keeps one by one.
    /// [`serve`](super::serve) does it every few seconds; without that call it as often, lest they fill the memory while nobody asks.
    pub fn upkeep(&self) {
        self.exporter.run_upkeep();
    }
}

impl fmt::Debug for Prometheus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prometheus")
    }
}

/// Bezoar's histograms are kept here, all else by the exporter.
struct Split {
    exporter: PrometheusRecorder,
    histograms: Arc<Histograms>,
}

impl Recorder for Split {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.exporter.describe_counter(key, unit, description);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.exporter.describe_gauge(key, unit, description);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.exporter.describe_histogram(key, unit, description);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        self.exporter.register_counter(key, metadata)
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        self.exporter.register_gauge(key, metadata)
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        match own(key.name()) {
            Some(metric) => self.histograms.register(metric, key),
            None => self.exporter.register_histogram(key, metadata),
        }
    }
}
