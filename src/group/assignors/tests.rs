use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

mod cooperative;

/// `member/instance id/topics`, one after another.
fn members(text: &str) -> Vec<Subscriber> {
    let member = |text: &str| {
        let parts: Vec<&str> = text.split('/').collect();
        let instance_id = Some(parts[1].to_owned()).filter(|id| !id.is_empty());
        let topics = parts[2].split(',').filter(|topic| !topic.is_empty()).map(str::to_owned).collect();
        Subscriber { member_id: parts[0].to_owned(), instance_id, topics, owned: Vec::new(), generation: -1 }
    };
    text.split(';').map(member).collect()
}

fn counts(text: &str) -> Counts {
    let count = |text: &str| text.split_once('=').map(|(name, count)| (name.to_owned(), count.parse().unwrap()));
    text.split(',').filter_map(count).collect()
}

fn shown(assignment: &Assignment) -> String {
    let member = |(member, partitions): (&String, &Vec<TopicPartition>)| {
        let mut partitions = partitions.clone();
        partitions.sort();
        let partitions: Vec<String> =
            partitions.iter().map(|it| format!("{}:{}", it.topic(), it.partition())).collect();
        format!("{member}={}", partitions.join(","))
    };
    assignment.iter().map(member).collect::<Vec<_>>().join(";")
}

/// Members, topics, and how the assignors of Kafka's Java client 4.3.1 divide them: range, then round robin.
const JAVA: &[(&str, &str, &str, &str)] = &[
    (
        "m0//t0,t1,t2;m1//t0,t1,t2;m2//t0,t1,t2",
        "t0=0,t1=4,t2=3",
        "m0=t1:0,t1:1,t2:0;m1=t1:2,t2:1;m2=t1:3,t2:2",
        "m0=t1:0,t1:3,t2:2;m1=t1:1,t2:0;m2=t1:2,t2:1",
    ),
    (
        "m0//t0,t1;m1/i8/t0,t1",
        "t0=5,t1=6",
        "m0=t0:3,t0:4,t1:3,t1:4,t1:5;m1=t0:0,t0:1,t0:2,t1:0,t1:1,t1:2",
        "m0=t0:1,t0:3,t1:0,t1:2,t1:4;m1=t0:0,t0:2,t0:4,t1:1,t1:3,t1:5",
    ),
    (
        "m0/i9/t0,t1,t2,t3",
        "t0=1,t1=3,t2=7,t3=5",
        "m0=t0:0,t1:0,t1:1,t1:2,t2:0,t2:1,t2:2,t2:3,t2:4,t2:5,t2:6,t3:0,t3:1,t3:2,t3:3,t3:4",
        "m0=t0:0,t1:0,t1:1,t1:2,t2:0,t2:1,t2:2,t2:3,t2:4,t2:5,t2:6,t3:0,t3:1,t3:2,t3:3,t3:4",
    ),
    (
        "m0/i9/;m1//t1;m2//t0,t1;m3//t1",
        "t0=2,t1=7",
        "m0=;m1=t1:0,t1:1,t1:2;m2=t0:0,t0:1,t1:3,t1:4;m3=t1:5,t1:6",
        "m0=;m1=t1:1,t1:4;m2=t0:0,t0:1,t1:2,t1:5;m3=t1:0,t1:3,t1:6",
    ),
    (
        "m0//t0;m1/i8/;m2//;m3//t0;m4/i5/",
        "t0=3",
        "m0=t0:0,t0:1;m1=;m2=;m3=t0:2;m4=",
        "m0=t0:0,t0:2;m1=;m2=;m3=t0:1;m4=",
    ),
];

#[test]
fn range_and_round_robin_divide_as_the_java_client_does() {
    for (subscribers, topics, range, round_robin) in JAVA {
        let (subscribers, topics) = (members(subscribers), counts(topics));
        assert_eq!(shown(&assign(Assignor::Range, &subscribers, &topics)), *range);
        assert_eq!(shown(&assign(Assignor::RoundRobin, &subscribers, &topics)), *round_robin);
    }
}

#[test]
fn topics_that_do_not_exist_and_members_that_want_nothing_are_no_trouble() {
    for assignor in [Assignor::Range, Assignor::RoundRobin, Assignor::CooperativeSticky] {
        assert_eq!(assign(assignor, &[], &counts("a=3")), Assignment::new());
        let alone = assign(assignor, &members("x//gone"), &counts("a=3"));
        assert_eq!(shown(&alone), "x=");
        let beside = assign(assignor, &members("x//;y//a,gone"), &counts("a=2"));
        assert_eq!(shown(&beside), "x=;y=a:0,a:1");
    }
}

/// A group: members with different topics, or all with the same.
fn group(equal: bool) -> impl Strategy<Value = (Vec<Subscriber>, Counts)> {
    let topics = prop::collection::vec(0..9i32, 1..5);
    let wants = prop::collection::vec((prop::collection::vec(any::<bool>(), 5), any::<bool>()), 1..7);
    (topics, wants).prop_map(move |(topics, wants)| {
        let counts: Counts = topics.iter().enumerate().map(|(index, count)| (format!("t{index}"), *count)).collect();
        let member = |(index, (wants, is_static)): (usize, &(Vec<bool>, bool))| Subscriber {
            member_id: format!("m{index}"),
            instance_id: is_static.then(|| format!("i{}", 9 - index)),
            topics: counts
                .keys()
                .zip(wants)
                .filter(|(_, wants)| equal || **wants)
                .map(|(name, _)| name.clone())
                .collect(),
            owned: Vec::new(),
            generation: -1,
        };
        (wants.iter().enumerate().map(member).collect(), counts)
    })
}

/// The partitions that somebody subscribes to.
fn wanted(members: &[Subscriber], counts: &Counts) -> BTreeSet<TopicPartition> {
    let topics: BTreeSet<&String> = members.iter().flat_map(|member| &member.topics).collect();
    let counted = topics.into_iter().filter_map(|topic| Some((topic, *counts.get(topic)?)));
    counted.flat_map(|(topic, count)| (0..count).map(|number| TopicPartition::new(topic.as_str(), number))).collect()
}

/// Everything assigned, each once and to a subscriber.
fn assert_sound(members: &[Subscriber], assignment: &Assignment) -> Result<BTreeSet<TopicPartition>, TestCaseError> {
    let mut all = BTreeSet::new();
    prop_assert_eq!(assignment.len(), members.len());
    for member in members {
        for partition in &assignment[&member.member_id] {
            prop_assert!(member.topics.contains(partition.topic()), "{} gets {partition}", member.member_id);
            prop_assert!(all.insert(partition.clone()), "{partition} given twice");
        }
    }
    Ok(all)
}

/// How far apart the fullest and the emptiest member are.
fn spread(assignment: &Assignment) -> usize {
    let sizes = || assignment.values().map(Vec::len);
    sizes().max().unwrap_or(0) - sizes().min().unwrap_or(0)
}

proptest! {
    #[test]
    fn every_partition_goes_to_one_subscriber((members, counts) in any::<bool>().prop_flat_map(group)) {
        for assignor in [Assignor::Range, Assignor::RoundRobin, Assignor::CooperativeSticky] {
            let assignment = assign(assignor, &members, &counts);
            prop_assert_eq!(assert_sound(&members, &assignment)?, wanted(&members, &counts));
            let mut turned = members.clone();
            turned.reverse();
            prop_assert_eq!(assign(assignor, &turned, &counts), assignment);
        }
    }

    #[test]
    fn equal_subscribers_get_equally_many((members, counts) in group(true)) {
        for assignor in [Assignor::RoundRobin, Assignor::CooperativeSticky] {
            prop_assert!(spread(&assign(assignor, &members, &counts)) <= 1);
        }
        let one_topic: Counts = counts.into_iter().take(1).collect();
        prop_assert!(spread(&assign(Assignor::Range, &members, &one_topic)) <= 1);
    }

    #[test]
    fn range_divides_topics_of_one_size_alike((members, mut counts) in group(true), size in 0..9i32) {
        counts.values_mut().for_each(|count| *count = size);
        let assignment = assign(Assignor::Range, &members, &counts);
        for partitions in assignment.values() {
            let of = |topic: &str| -> BTreeSet<i32> {
                partitions.iter().filter(|it| it.topic() == topic).map(TopicPartition::partition).collect()
            };
            for topic in counts.keys() {
                prop_assert_eq!(of(topic), of("t0"));
            }
        }
    }
}
