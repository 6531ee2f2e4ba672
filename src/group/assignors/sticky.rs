use std::collections::HashMap;

use super::balance::Balance;
use super::{Subscribed, Subscriber};
use crate::record::TopicPartition;

/// Who holds a partition, as far as the members say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Nobody,
    /// This member, as of this generation.
    One(usize, i32),
    /// Several say so for the same generation.
    Disputed(i32),
}

/// As evenly as subscriptions allow, and with as few moves as that takes. A partition that moves goes to nobody in this round:
/// its holder learns that it is to give it up, and joins again when it has.
pub(super) fn divide(members: &[&Subscriber], topics: &[Subscribed]) -> Vec<Vec<TopicPartition>> {
    let holders = holders(members, topics);
    let stay = holders.iter().zip(topics).map(|(holders, topic)| {
        let stays = |holder: &Holder| match holder {
            Holder::One(member, _) => Some(*member).filter(|member| topic.by.binary_search(member).is_ok()),
            Holder::Nobody | Holder::Disputed(_) => None,
        };
        holders.iter().map(stays).collect()
    });
    let owners = Balance::new(members.len(), topics, stay.collect()).settle();

    let mut divided = vec![Vec::new(); members.len()];
    for ((topic, holders), owners) in topics.iter().zip(holders).zip(owners) {
        for ((number, holder), owner) in (0..topic.partitions).zip(holders).zip(owners) {
            let free = match holder {
                Holder::Nobody => true,
                Holder::One(member, _) => member == owner,
                Holder::Disputed(_) => false,
            };
            if free {
                divided[owner].push(topic.partition(number));
            }
        }
    }
    divided
}

/// Who holds each partition of each topic. A member that was away for a generation has lost what another one says to hold
/// since.
fn holders(members: &[&Subscriber], topics: &[Subscribed]) -> Vec<Vec<Holder>> {
    let mut holders: Vec<Vec<Holder>> =
        topics.iter().map(|topic| (0..topic.partitions).map(|_| Holder::Nobody).collect()).collect();
    let places: HashMap<&str, usize> = topics.iter().enumerate().map(|(place, topic)| (&*topic.name, place)).collect();
    for (index, member) in members.iter().enumerate() {
        for owned in &member.owned {
            let place = places.get(owned.topic()).copied();
            let number = usize::try_from(owned.partition()).ok();
            let Some(holder) = place.zip(number).and_then(|(place, number)| holders[place].get_mut(number)) else {
                continue;
            };
            *holder = match *holder {
                // Named twice by one member.
                Holder::One(same, _) if same == index => continue,
                Holder::One(_, since) | Holder::Disputed(since) if since > member.generation => continue,
                Holder::One(_, since) | Holder::Disputed(since) if since == member.generation => {
                    Holder::Disputed(since)
                }
                Holder::Nobody | Holder::One(..) | Holder::Disputed(_) => Holder::One(index, member.generation),
            };
        }
    }
    holders
}
