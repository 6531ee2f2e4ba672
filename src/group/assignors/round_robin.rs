use super::Subscribed;
use crate::record::TopicPartition;

/// One by one over all topics; a member that does not subscribe to the topic is passed over.
pub(super) fn divide(members: usize, topics: &[Subscribed]) -> Vec<Vec<TopicPartition>> {
    let mut divided = vec![Vec::new(); members];
    let mut next = 0;
    for topic in topics {
        for number in 0..topic.partitions {
            // The first subscriber at or after the turn; round the corner where there is none.
            let place = topic.by.partition_point(|&member| member < next);
            let member = topic.by[place % topic.by.len()];
            divided[member].push(topic.partition(number));
            next = (member + 1) % members;
        }
    }
    divided
}
