use std::cell::Cell;
use std::sync::Arc;

use ::metrics::{Counter, Gauge, Histogram, IntoF64, Key, Label, Level, Metadata};

use super::names::{self, Kind, Metric};
use crate::policy::{Category, DeadLetterTopics};

/// The way to the recorder of the `metrics` facade. Where none is installed, all that it gives does nothing.
#[derive(Clone, Default)]
pub(crate) struct Export(Option<Arc<Exporting>>);

struct Exporting {
    group: Arc<str>,
    dead_letter_topics: DeadLetterTopics,
}

type Labels<'a> = [(&'static str, &'a str)];

impl Export {
    /// To the recorder that is installed now, for one consumer.
    pub(super) fn new(group: &str, dead_letter_topics: DeadLetterTopics) -> Self {
        let export = Self(Some(Arc::new(Exporting { group: group.into(), dead_letter_topics })));
        if !export.histogram(&names::COMMIT_DURATION, &[]).is_some_and(|histogram| is_real(&histogram)) {
            return Self(None);
        }
        describe();
        export
    }

    /// Whether anybody listens.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn counter(&self, metric: &Metric, labels: &Labels<'_>) -> Counter {
        self.key(metric, labels).map_or_else(Counter::noop, |key| {
            ::metrics::with_recorder(|recorder| recorder.register_counter(&key, &METADATA))
        })
    }

    pub(super) fn gauge(&self, metric: &Metric, labels: &Labels<'_>) -> Gauge {
        self.key(metric, labels).map_or_else(Gauge::noop, |key| {
            ::metrics::with_recorder(|recorder| recorder.register_gauge(&key, &METADATA))
        })
    }

    /// `None` where nobody listens, so that nothing needs to be measured.
    pub(super) fn histogram(&self, metric: &Metric, labels: &Labels<'_>) -> Option<Histogram> {
        let key = self.key(metric, labels)?;
        Some(::metrics::with_recorder(|recorder| recorder.register_histogram(&key, &METADATA)))
    }

    fn key(&self, metric: &Metric, labels: &Labels<'_>) -> Option<Key> {
        let exporting = self.0.as_ref()?;
        let group = Label::new(names::GROUP, Arc::clone(&exporting.group));
        let labels = labels.iter().map(|&(name, value)| Label::new(name, value.to_owned()));
        Some(Key::from_parts(metric.name, std::iter::once(group).chain(labels).collect::<Vec<_>>()))
    }

    /// Where dead letters of a topic go by the settings, where anybody listens.
    pub(super) fn dead_letter_topics(&self, topic: &str) -> Vec<(Category, String)> {
        let Some(exporting) = &self.0 else { return Vec::new() };
        Category::ALL.map(|category| (category, exporting.dead_letter_topics.topic_for(topic, category))).into()
    }
}

pub(super) const METADATA: Metadata<'static> = Metadata::new("bezoar", Level::INFO, Some(module_path!()));

/// Whether a handle is a recorder's. The facade does not say; but only such a handle asks for the value that it is given.
fn is_real(histogram: &Histogram) -> bool {
    struct Probe<'a>(&'a Cell<bool>);

    impl IntoF64 for Probe<'_> {
        fn into_f64(self) -> f64 {
            self.0.set(true);
            0.0
        }
    }

    let asked = Cell::new(false);
    // No times: it records nothing.
    histogram.record_many(Probe(&asked), 0);
    asked.get()
}

/// Tells the recorder what the metrics mean.
pub(super) fn describe() {
    ::metrics::with_recorder(|recorder| {
        for metric in names::ALL {
            let (name, unit, meaning) = (metric.name.into(), Some(metric.unit()), metric.meaning.into());
            match metric.kind {
                Kind::Counter => recorder.describe_counter(name, unit, meaning),
                Kind::Gauge => recorder.describe_gauge(name, unit, meaning),
                Kind::Histogram => recorder.describe_histogram(name, unit, meaning),
            }
        }
    });
}
