use super::Subscribed;
use crate::record::TopicPartition;

/// Topic by topic, neighbouring partitions to each subscriber; the first few get one more where they do not go round evenly.
/// Topics with as many partitions and the same subscribers are divided alike, so that joins over them stay local.
pub(super) fn divide(members: usize, topics: &[Subscribed]) -> Vec<Vec<TopicPartition>> {
    let mut divided = vec![Vec::new(); members];
    for topic in topics {
        let mut numbers = 0..topic.partitions;
        let each = numbers.len() / topic.by.len();
        let with_one_more = numbers.len() % topic.by.len();
        for (place, &member) in topic.by.iter().enumerate() {
            let share = each + usize::from(place < with_one_more);
            divided[member].extend(numbers.by_ref().take(share).map(|number| topic.partition(number)));
        }
    }
    divided
}
