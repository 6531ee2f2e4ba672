use ::metrics::{Key, Label, with_recorder};

use super::export::METADATA;
use super::names::{self, Metric};
use crate::policy::Category;

/// Sets how many dead letters of a topic are not resolved: those of one category, or with `None` all of the topic.
pub(crate) fn depth(topic: &str, category: Option<Category>, letters: u64) {
    let category = category.map_or(names::ALL_CATEGORIES, Category::as_str);
    let labels = vec![Label::new(names::TOPIC, topic.to_owned()), Label::new(names::CATEGORY, category)];
    set(&names::DEPTH, labels, letters as f64);
}

/// Sets how old the oldest dead letter of a topic is that is not resolved, in seconds; 0 where there is none.
pub(crate) fn oldest_age(topic: &str, seconds: f64) {
    set(&names::OLDEST_AGE, vec![Label::new(names::TOPIC, topic.to_owned())], seconds);
}

fn set(metric: &Metric, labels: Vec<Label>, value: f64) {
    let key = Key::from_parts(metric.name, labels);
    with_recorder(|recorder| recorder.register_gauge(&key, &METADATA).set(value));
}
