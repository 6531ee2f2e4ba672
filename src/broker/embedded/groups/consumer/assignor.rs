use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{Assignor, Partitions};

/// A member that is to be assigned to.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) id: &'a str,
    /// The topics that it subscribes to, of those that are there.
    pub(super) subscribed: BTreeSet<Uuid>,
    /// What it was to have before.
    pub(super) target: &'a Partitions,
}

impl Assignor {
    /// Assigns every partition of every topic to one of the candidates that subscribe to it; the answer has one entry for
    /// each of them. `topics` are numbers of partitions.
    pub(super) fn assign(self, candidates: &[Candidate<'_>], topics: &BTreeMap<Uuid, i32>) -> Vec<Partitions> {
        match self {
            Self::Uniform => uniform(candidates, topics),
            Self::Range => range(candidates, topics),
        }
    }
}

fn uniform(candidates: &[Candidate<'_>], topics: &BTreeMap<Uuid, i32>) -> Vec<Partitions> {
    let exists = |(topic, partition): &(Uuid, i32)| topics.get(topic).is_some_and(|count| partition < count);
    let keep = |one: &Candidate<'_>| {
        let kept = one.target.iter().filter(|partition| one.subscribed.contains(&partition.0) && exists(partition));
        kept.copied().collect()
    };
    let mut shares: Vec<Partitions> = candidates.iter().map(keep).collect();
    let all = topics.iter().flat_map(|(topic, count)| (0..*count).map(|partition| (*topic, partition)));
    let taken: Partitions = shares.iter().flatten().copied().collect();
    for partition in all.filter(|partition| !taken.contains(partition)) {
        let takers = (0..shares.len()).filter(|at| candidates[*at].subscribed.contains(&partition.0));
        if let Some(poorest) = takers.min_by_key(|at| shares[*at].len()) {
            shares[poorest].insert(partition);
        }
    }
    // Each move brings two shares closer together, so it ends.
    while let Some((from, to, partition)) = find_move(candidates, &shares) {
        shares[from].remove(&partition);
        shares[to].insert(partition);
    }
    shares
}

/// A partition that makes shares more even if it moves, from whom and to whom.
fn find_move(candidates: &[Candidate<'_>], shares: &[Partitions]) -> Option<(usize, usize, (Uuid, i32))> {
    let mut by_size: Vec<_> = (0..shares.len()).collect();
    by_size.sort_by_key(|at| shares[*at].len());
    by_size.iter().rev().find_map(|from| {
        let poorer = by_size.iter().take_while(|to| shares[**to].len() + 1 < shares[*from].len());
        poorer.copied().find_map(|to| {
            let moves = |partition: &&(Uuid, i32)| candidates[to].subscribed.contains(&partition.0);
            shares[*from].iter().rev().find(moves).map(|partition| (*from, to, *partition))
        })
    })
}

fn range(candidates: &[Candidate<'_>], topics: &BTreeMap<Uuid, i32>) -> Vec<Partitions> {
    let mut shares = vec![Partitions::new(); candidates.len()];
    for (topic, count) in topics {
        let mut takers: Vec<_> = (0..shares.len()).filter(|at| candidates[*at].subscribed.contains(topic)).collect();
        takers.sort_by_key(|at| candidates[*at].id);
        let mut partitions = (0..*count).map(|partition| (*topic, partition));
        let count = usize::try_from(*count).unwrap_or(0);
        for (place, at) in takers.iter().enumerate() {
            let share = count / takers.len() + usize::from(place < count % takers.len());
            shares[*at].extend(partitions.by_ref().take(share));
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn topic(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn assign(
        assignor: Assignor,
        subscriptions: &[BTreeSet<u128>],
        before: &[Partitions],
        counts: &[i32],
    ) -> Vec<Partitions> {
        let ids: Vec<_> = (0..subscriptions.len()).map(|at| format!("member-{at:02}")).collect();
        let topics = counts.iter().enumerate().map(|(at, count)| (topic(at as u128), *count)).collect();
        let candidates = subscriptions.iter().zip(before).zip(&ids).map(|((subscribed, target), id)| Candidate {
            id,
            subscribed: subscribed.iter().map(|number| topic(*number)).collect(),
            target,
        });
        assignor.assign(&candidates.collect::<Vec<_>>(), &topics)
    }

    fn check(shares: &[Partitions], subscriptions: &[BTreeSet<u128>], counts: &[i32]) -> Result<(), TestCaseError> {
        for (at, count) in counts.iter().enumerate() {
            let at = at as u128;
            let is_wanted = subscriptions.iter().any(|subscribed| subscribed.contains(&at));
            for partition in 0..*count {
                let owners = shares.iter().filter(|share| share.contains(&(topic(at), partition))).count();
                prop_assert_eq!(owners, usize::from(is_wanted));
            }
        }
        for (share, subscribed) in shares.iter().zip(subscriptions) {
            for (id, partition) in share {
                prop_assert!(subscribed.contains(&id.as_u128()) && *partition < counts[id.as_u128() as usize]);
            }
        }
        Ok(())
    }

    fn subscriptions() -> impl Strategy<Value = Vec<BTreeSet<u128>>> {
        prop::collection::vec(prop::collection::btree_set(0u128..3, 0..3), 1..6)
    }

    proptest! {
        #[test]
        fn each_partition_goes_to_one_subscriber(
            subscriptions in subscriptions(),
            counts in prop::collection::vec(0i32..9, 3..=3),
            later in prop::collection::vec(0i32..9, 3..=3),
        ) {
            for assignor in [Assignor::Uniform, Assignor::Range] {
                let none = vec![Partitions::new(); subscriptions.len()];
                let first = assign(assignor, &subscriptions, &none, &counts);
                check(&first, &subscriptions, &counts)?;
                let second = assign(assignor, &subscriptions, &first, &later);
                check(&second, &subscriptions, &later)?;
            }
        }

        #[test]
        fn uniform_moves_no_more_than_it_must(members in 1usize..6, partitions in 0i32..20) {
            let all = vec![BTreeSet::from([0]); members];
            let none = vec![Partitions::new(); members];
            let first = assign(Assignor::Uniform, &all, &none, &[partitions]);
            let sizes: Vec<_> = first.iter().map(BTreeSet::len).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            prop_assert_eq!(&assign(Assignor::Uniform, &all, &first, &[partitions]), &first);
            // One more member gets its share, and no partition moves between the others.
            let more = vec![BTreeSet::from([0]); members + 1];
            let before: Vec<_> = first.iter().cloned().chain([Partitions::new()]).collect();
            let second = assign(Assignor::Uniform, &more, &before, &[partitions]);
            prop_assert_eq!(second[members].len(), partitions as usize / (members + 1));
            prop_assert!(second.iter().zip(&first).all(|(after, before)| after.is_subset(before)));
        }
    }

    #[test]
    fn range_gives_neighbours_in_the_order_of_ids() {
        let both = vec![BTreeSet::from([0, 1]); 2];
        let none = vec![Partitions::new(); 2];
        let shares = assign(Assignor::Range, &both, &none, &[3, 2]);
        let expected = |numbers: &[(u128, i32)]| numbers.iter().map(|(at, p)| (topic(*at), *p)).collect::<Partitions>();
        assert_eq!(shares, [expected(&[(0, 0), (0, 1), (1, 0)]), expected(&[(0, 2), (1, 1)])]);
    }
}
