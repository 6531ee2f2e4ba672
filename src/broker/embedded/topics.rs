use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kafka_protocol::ResponseError;
use uuid::Uuid;

use super::configs::Configs;
use super::log::Log;
use super::state::Refused;

/// A topic and its logs.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: Arc<str>,
    pub(crate) id: Uuid,
    pub(crate) configs: Configs,
    pub(crate) partitions: Vec<Log>,
}

impl Topic {
    /// The log of a partition, if there is such a one.
    pub(crate) fn log(&self, partition: i32) -> Option<&Log> {
        self.partitions.get(usize::try_from(partition).ok()?)
    }

    /// The log of a partition, to be changed.
    pub(crate) fn log_mut(&mut self, partition: i32) -> Option<&mut Log> {
        self.partitions.get_mut(usize::try_from(partition).ok()?)
    }
}

/// All topics, by name and by id.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    by_name: BTreeMap<Arc<str>, Topic>,
    names: HashMap<Uuid, Arc<str>>,
}

impl Topics {
    pub(crate) fn get(&self, name: &str) -> Option<&Topic> {
        self.by_name.get(name)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Topic> {
        self.by_name.get_mut(name)
    }

    /// The name of the topic with this id.
    pub(crate) fn name_of(&self, id: Uuid) -> Option<Arc<str>> {
        self.names.get(&id).cloned()
    }

    /// All topics, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Topic> {
        self.by_name.values()
    }

    /// Adds a topic whose name is known to be free.
    pub(crate) fn insert(&mut self, topic: Topic) {
        self.names.insert(topic.id, Arc::clone(&topic.name));
        self.by_name.insert(Arc::clone(&topic.name), topic);
    }

    /// Takes a topic away, with all its records.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Topic> {
        let topic = self.by_name.remove(name)?;
        self.names.remove(&topic.id);
        Some(topic)
    }

    /// Checks the name of a topic that is to be created.
    pub(crate) fn check_new_name(&self, name: &str) -> Result<(), Refused> {
        check_name(name)?;
        if self.by_name.contains_key(name) {
            let message = format!("Topic '{name}' already exists.");
            return Err(Refused::new(ResponseError::TopicAlreadyExists, message));
        }
        // Kafka's metrics write both as '_', so names that differ in nothing else cannot stand side by side.
        let plain = name.replace('.', "_");
        match self.by_name.keys().find(|other| other.replace('.', "_") == plain) {
            Some(other) => {
                let message = format!("Topic '{name}' collides with existing topic: {other}");
                Err(Refused::new(ResponseError::InvalidTopicException, message))
            }
            None => Ok(()),
        }
    }
}

/// Checks that a name is one that topics can have.
pub(crate) fn check_name(name: &str) -> Result<(), Refused> {
    let problem = if name.is_empty() {
        "the empty string is not allowed"
    } else if name == "." || name == ".." {
        "'.' or '..' is not allowed"
    } else if name.len() > 249 {
        "the length of the name is longer than the max allowed length 249"
    } else if !name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-')) {
        "it contains a character other than ASCII alphanumerics, '.', '_' and '-'"
    } else {
        return Ok(());
    };
    Err(Refused::new(ResponseError::InvalidTopicException, format!("Topic name is invalid: {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str) -> Topic {
        Topic { name: name.into(), id: Uuid::new_v4(), configs: Configs::default(), partitions: Vec::new() }
    }

    #[test]
    fn names_are_checked_as_kafka_does() {
        for good in ["orders", "orders.dlq_x-1", "A", &"x".repeat(249)] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", "a b", "a/b", "ä", &"x".repeat(250)] {
            assert_eq!(check_name(bad).unwrap_err().error, ResponseError::InvalidTopicException, "{bad}");
        }
    }

    #[test]
    fn taken_and_colliding_names_are_refused() {
        let mut topics = Topics::default();
        topics.insert(topic("orders.dlq"));
        let error = |name| topics.check_new_name(name).unwrap_err().error;
        assert_eq!(error("orders.dlq"), ResponseError::TopicAlreadyExists);
        assert_eq!(error("orders_dlq"), ResponseError::InvalidTopicException);
        assert_eq!(topics.check_new_name("orders-dlq"), Ok(()));
    }

    #[test]
    fn an_id_ends_with_its_topic() {
        let mut topics = Topics::default();
        let first = topic("orders");
        let id = first.id;
        topics.insert(first);
        assert_eq!(topics.name_of(id).as_deref(), Some("orders"));
        topics.remove("orders");
        topics.insert(topic("orders"));
        assert_eq!(topics.name_of(id), None);
    }
}
