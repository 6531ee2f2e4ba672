use super::*;

/// The members join again, each with what it holds: what it was given last, or less where it has just given it up.
fn again(members: &mut [Subscriber], assignment: &Assignment) {
    for member in members {
        member.owned = assignment[&member.member_id].clone();
        member.generation += 1;
    }
}

fn divide(members: &[Subscriber], counts: &Counts) -> Assignment {
    assign(Assignor::CooperativeSticky, members, counts)
}

/// As evenly as it can be: the sum of squares is the least, which the least over all divisions shows for small groups.
fn cost(assignment: &Assignment) -> usize {
    assignment.values().map(|partitions| partitions.len().pow(2)).sum()
}

/// The least cost of all divisions of `partitions`, by trying them all.
fn least_cost(members: &[Subscriber], partitions: &[TopicPartition], loads: &mut Vec<usize>) -> usize {
    let Some((first, rest)) = partitions.split_first() else { return loads.iter().map(|load| load.pow(2)).sum() };
    let mut least = usize::MAX;
    for (index, member) in members.iter().enumerate() {
        if member.topics.contains(first.topic()) {
            loads[index] += 1;
            least = least.min(least_cost(members, rest, loads));
            loads[index] -= 1;
        }
    }
    least
}

fn held_by<'a>(members: &'a [Subscriber], partition: &TopicPartition) -> Vec<&'a str> {
    let holds = members.iter().filter(|member| member.owned.contains(partition));
    holds.map(|member| member.member_id.as_str()).collect()
}

#[test]
fn a_second_member_gets_its_half_in_two_rounds() {
    let counts = counts("a=4");
    let mut two = members("x//a");
    let alone = divide(&two, &counts);
    again(&mut two, &alone);
    two.extend(members("y//a"));
    let first = divide(&two, &counts);
    assert_eq!(shown(&first), "x=a:0,a:1;y=");
    again(&mut two, &first);
    assert_eq!(shown(&divide(&two, &counts)), "x=a:0,a:1;y=a:2,a:3");
}

#[test]
fn a_newer_generation_beats_an_older_one_and_a_dispute_gives_it_to_nobody() {
    let counts = counts("a=2");
    let mut both = members("x//a;y//a");
    both[0].owned = vec![TopicPartition::new("a", 0), TopicPartition::new("a", 1)];
    both[1].owned = vec![TopicPartition::new("a", 1)];
    (both[0].generation, both[1].generation) = (4, 5);
    assert_eq!(shown(&divide(&both, &counts)), "x=a:0;y=a:1");
    (both[0].generation, both[1].generation) = (5, 4);
    assert_eq!(shown(&divide(&both, &counts)), "x=a:0;y=", "1 moves, so it is given up first");
    (both[0].generation, both[1].generation) = (5, 5);
    assert_eq!(shown(&divide(&both, &counts)), "x=a:0;y=");
}

#[test]
fn what_a_member_says_to_own_of_topics_and_partitions_that_are_not_counts_for_nothing() {
    let mut both = members("x//a;y//a,b");
    both[0].owned =
        [("a", -1), ("a", 7), ("gone", 0), ("b", 0)].map(|(topic, it)| TopicPartition::new(topic, it)).into();
    let assignment = divide(&both, &counts("a=2,b=1"));
    // It holds b/0 without subscribing to it: it is to give that up before another gets it.
    assert_eq!(shown(&assignment), "x=a:0,a:1;y=");
}

proptest! {
    #[test]
    fn it_is_as_even_as_subscriptions_allow((mut members, mut counts) in group(false)) {
        // Few enough to try all divisions.
        members.truncate(4);
        counts.values_mut().for_each(|count| *count = (*count).min(2));
        let partitions: Vec<_> = wanted(&members, &counts).into_iter().collect();
        let least = least_cost(&members, &partitions, &mut vec![0; members.len()]);
        prop_assert_eq!(cost(&divide(&members, &counts)), least);
    }

    /// Members come and go, topics change, and some of what members hold has been given up or lost.
    #[test]
    fn a_change_takes_two_rounds_and_gives_nothing_away_that_somebody_holds(
        all_kept: bool,
        ((before, counts), (after, grown)) in any::<bool>().prop_flat_map(|equal| (group(equal), group(equal))),
        forgotten in prop::collection::vec(any::<bool>(), 40),
    ) {
        let mut held = before.clone();
        again(&mut held, &divide(&before, &counts));
        let mut members = after;
        for (member, was) in members.iter_mut().zip(&held) {
            let kept = was.owned.iter().zip(&forgotten).filter(|(_, forgotten)| all_kept || !**forgotten);
            member.owned = kept.map(|(partition, _)| partition.clone()).collect();
            member.generation = was.generation;
        }
        let first = divide(&members, &grown);
        assert_sound(&members, &first)?;
        for (member, partitions) in &first {
            for partition in partitions {
                let holders = held_by(&members, partition);
                prop_assert!(holders.is_empty() || holders == [member.as_str()], "{partition} is held by {holders:?}");
            }
        }
        again(&mut members, &first);
        let second = divide(&members, &grown);
        prop_assert_eq!(assert_sound(&members, &second)?, wanted(&members, &grown));
        for (member, partitions) in &first {
            prop_assert!(partitions.iter().all(|it| second[member].contains(it)), "the second round takes from {member}");
        }
        again(&mut members, &second);
        prop_assert_eq!(divide(&members, &grown), second);
    }

    #[test]
    fn when_one_leaves_only_its_partitions_move((members, counts) in group(true), which in 0..7usize) {
        let mut members = members;
        if members.len() == 1 {
            members.push(Subscriber { member_id: "another".to_owned(), instance_id: None, ..members[0].clone() });
        }
        let before = divide(&members, &counts);
        again(&mut members, &before);
        members.remove(which % members.len());
        let after = divide(&members, &counts);
        prop_assert_eq!(assert_sound(&members, &after)?, wanted(&members, &counts));
        for member in &members {
            let id = &member.member_id;
            prop_assert!(before[id].iter().all(|partition| after[id].contains(partition)));
        }
        prop_assert!(spread(&after) <= 1);
    }

    #[test]
    fn when_one_comes_only_its_share_moves((members, counts) in group(true)) {
        let mut members = members;
        let last = Subscriber { member_id: "last".to_owned(), instance_id: None, ..members[0].clone() };
        let before = divide(&members, &counts);
        again(&mut members, &before);
        members.push(last.clone());
        let first = divide(&members, &counts);
        prop_assert!(first[&last.member_id].is_empty());
        again(&mut members, &first);
        let second = divide(&members, &counts);
        let all = wanted(&members, &counts).len();
        prop_assert!(second[&last.member_id].len() <= all.div_ceil(members.len()));
        for member in members.iter().filter(|member| member.member_id != last.member_id) {
            let id = &member.member_id;
            prop_assert!(second[id].iter().all(|partition| before[id].contains(partition)), "{id} gets what it had not");
        }
    }
}
