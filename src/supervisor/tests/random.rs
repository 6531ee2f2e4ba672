use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;

use super::broker::Fact;
use super::stage::{Stage, orders};
use crate::group::GroupNotice;
use crate::record::TopicPartition;
use crate::supervisor::{SeekTo, SupervisorMessage};

/// What the group, the broker or a person does.
#[derive(Debug, Clone)]
enum Step {
    Assign(i32),
    Revoke(i32),
    Lose(i32),
    Identity,
    Feed(i32, &'static str),
    Pause(i32, bool),
    Seek(i32, i64),
    Away(bool),
    TakesLetters(bool),
    TakesCommits(bool),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let partition = || 0..3i32;
    let value = prop::sample::select(vec!["ok", "ok", "wait 3", "wait 200", "retry 20", "invalid", "panic"]);
    prop_oneof![
        4 => partition().prop_map(Step::Assign),
        3 => partition().prop_map(Step::Revoke),
        1 => partition().prop_map(Step::Lose),
        1 => Just(Step::Identity),
        6 => (partition(), value).prop_map(|(partition, value)| Step::Feed(partition, value)),
        1 => (partition(), any::<bool>()).prop_map(|(partition, paused)| Step::Pause(partition, paused)),
        1 => (partition(), 0..100i64).prop_map(|(partition, to)| Step::Seek(partition, to)),
        1 => any::<bool>().prop_map(Step::Away),
        1 => any::<bool>().prop_map(Step::TakesLetters),
        1 => any::<bool>().prop_map(Step::TakesCommits),
        6 => prop_oneof![Just(0), 1..3_000u64, 3_000..15_000u64].prop_map(Step::Wait),
    ]
}

async fn play(stage: &Stage, step: Step, epoch: i32) {
    let broker = &stage.broker;
    match step {
        Step::Assign(partition) => {
            broker.note(Fact::Assigned(orders(partition)));
            stage.tell(GroupNotice::Assigned(vec![(orders(partition), None)]));
        }
        Step::Revoke(partition) => {
            broker.note(Fact::Revoked(orders(partition)));
            stage.tell(GroupNotice::Revoked(vec![orders(partition)]));
        }
        Step::Lose(partition) => {
            broker.note(Fact::Losing(orders(partition)));
            stage.tell(GroupNotice::Lost { partitions: vec![orders(partition)], reason: "as told".to_owned() });
            // Once it is heard of.
            stage.status().await;
            broker.note(Fact::Lost(orders(partition)));
        }
        Step::Identity => stage.identity(epoch),
        Step::Feed(partition, value) => drop(broker.feed(&orders(partition), &[value])),
        Step::Pause(partition, paused) => drop(stage.pause(Some(&[partition]), paused).await),
        Step::Seek(partition, to) => {
            let (reply, _answer) = ractor::concurrency::oneshot();
            let (partition, to, reply) = (orders(partition), SeekTo::Offset(to), reply.into());
            stage.supervisor.cast(SupervisorMessage::Seek { partition, to, reply }).unwrap();
        }
        Step::Away(away) => broker.is_away.store(away, Ordering::Release),
        Step::TakesLetters(takes) => drop(broker.takes_letters.send_replace(takes)),
        Step::TakesCommits(takes) => drop(broker.takes_commits.send_replace(takes)),
        Step::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
    }
}

#[derive(Default)]
struct Expected {
    /// Whether the group wants it to be processed.
    wanted: bool,
    /// How many revocations are not answered.
    unanswered: u32,
    /// Whether it was lost, and a commit of it may be on the wire.
    lost: bool,
}

/// Holds what happened against what may happen.
fn check(facts: &[Fact]) -> Result<(), TestCaseError> {
    let mut partitions: BTreeMap<&TopicPartition, Expected> = BTreeMap::new();
    for (index, fact) in facts.iter().enumerate() {
        match fact {
            Fact::Assigned(partition) => {
                let expected = partitions.entry(partition).or_default();
                (expected.wanted, expected.lost) = (true, false);
            }
            Fact::Revoked(partition) => {
                let expected = partitions.entry(partition).or_default();
                expected.wanted = false;
                expected.unanswered += 1;
            }
            // From here on it may be heard of, by the offsets actor last.
            Fact::Losing(partition) => partitions.entry(partition).or_default().lost = true,
            Fact::Lost(partition) => partitions.entry(partition).or_default().wanted = false,
            Fact::Released(partition) => {
                let expected = partitions.entry(partition).or_default();
                prop_assert!(expected.unanswered > 0, "{partition} is given up unasked, at {index} of {facts:?}");
                expected.unanswered -= 1;
            }
            Fact::Delivered(partition, offset) => {
                let expected = partitions.entry(partition).or_default();
                let ours = expected.wanted || expected.unanswered > 0;
                prop_assert!(ours, "{partition}/{offset} is delivered without being assigned, at {index} of {facts:?}");
            }
            Fact::Committed(partition, offset, _) => {
                let expected = partitions.entry(partition).or_default();
                let ours = expected.wanted || expected.unanswered > 0 || expected.lost;
                prop_assert!(ours, "{partition} at {offset} is committed by nobody, at {index} of {facts:?}");
            }
            _ => {}
        }
    }
    for (partition, expected) in partitions {
        prop_assert_eq!(expected.unanswered, 0, "{} was to be given up: {:?}", partition, facts);
    }
    Ok(())
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut stage = Stage::new().await;
    let mut targets = BTreeSet::from([0]);
    for (index, step) in steps.into_iter().enumerate() {
        if let Step::Seek(_, to) = step {
            targets.insert(to);
        }
        play(&stage, step, 2 + index as i32).await;
    }
    for step in [Step::Away(false), Step::TakesLetters(true), Step::TakesCommits(true), Step::Revoke(0)] {
        play(&stage, step, 0).await;
    }
    // The others are given up with all.
    stage.pass(60).await;
    let finished = stage.shutdown().await;
    prop_assert_eq!(&finished.halted, &None);
    let facts = stage.broker.facts().clone();
    check(&facts)?;
    for fact in &facts {
        if let Fact::Committed(partition, offset, _) = fact {
            let settled = targets.contains(offset) || stage.broker.is_through(partition, offset - 1);
            prop_assert!(settled, "{partition} at {offset} is committed past a record in flight: {facts:?}");
        }
    }
    let left = facts.iter().filter(|fact| **fact == Fact::Left).count();
    prop_assert_eq!(left, 1);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_each_revocation_is_answered_once_and_nothing_happens_after_it(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(run(steps))?;
    }
}
