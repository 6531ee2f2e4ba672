use std::collections::BTreeSet;
use std::sync::Arc;

use super::health::{Status, TopicHealth};
use crate::metrics::{depth, oldest_age};

/// Tells the metrics how deep dead-letter topics are.
#[derive(Debug, Default)]
pub(super) struct Gauges {
    told: BTreeSet<Arc<str>>,
}

impl Gauges {
    /// Those that are not spoken of any more are another instance's: a gauge stays where it is until it is set.
    pub(super) fn set(&mut self, topics: &[TopicHealth]) {
        let mut gone = std::mem::take(&mut self.told);
        for health in topics.iter().filter(|health| health.status != Status::Missing) {
            depth(&health.topic, None, health.depth);
            match (health.depth, health.age) {
                (0, _) => oldest_age(&health.topic, 0.0),
                (_, Some(age)) => oldest_age(&health.topic, age.as_secs_f64()),
                // It could not be read: the last one stays.
                (_, None) => {}
            }
            gone.remove(&health.topic);
            self.told.insert(Arc::clone(&health.topic));
        }
        for topic in gone {
            depth(&topic, None, 0);
            oldest_age(&topic, 0.0);
        }
    }
}
