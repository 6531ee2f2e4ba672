use proptest::prelude::*;

use super::*;
use crate::replay::marks::mark::tests::mark;

const PLACE: Place = Place { partition: 0, offset: 7 };

fn run(id: u128) -> RunId {
    RunId { id: Uuid::from_u128(id), host: "host".into(), pid: id as u32 }
}

fn lineage() -> Lineage {
    Lineage {
        replay_id: Uuid::from_u128(9),
        target: TopicPartition::new("orders", 0),
        origin: None,
        count: 1,
        also_at: Vec::new(),
        maybe_at: Vec::new(),
    }
}

fn of(id: u128, outcome: Outcome) -> Mark {
    Mark { topic_id: None, outcome, replayed_at: None, run: run(id), lineage: Some(lineage()) }
}

fn claim(id: u128) -> Mark {
    of(id, Outcome::Claimed { lease: 100, again: false })
}

fn replayed(id: u128) -> Mark {
    let to = RecordId { topic_id: None, partition: TopicPartition::new("orders", 0), offset: 3 };
    of(id, Outcome::Replayed { to })
}

fn failed(id: u128) -> Mark {
    of(id, Outcome::Failed { reason: "full".to_owned() })
}

#[test]
fn the_first_claim_holds_until_its_lease_is_over_and_can_be_renewed() {
    let mut index = Index::default();
    assert_eq!(index.apply(PLACE, claim(1), 1000), Effect::Claimed { from: None });
    assert_eq!(index.apply(PLACE, claim(2), 1099), Effect::Void);
    assert_eq!(index.apply(PLACE, claim(1), 1099), Effect::Claimed { from: None });
    assert_eq!(index.apply(PLACE, claim(2), 1198), Effect::Void);
    assert_eq!(index.known(PLACE).claimed_by, Some(run(1)));
    assert_eq!(index.apply(PLACE, claim(2), 1199), Effect::Claimed { from: Some(run(1).id) });
    assert_eq!(index.state(PLACE), State::Claimed { run: "host:2".into(), at: 1199 });
    let known = index.known(PLACE);
    assert_eq!(known.maybe_at, [TopicPartition::new("orders", 0)]);
    assert_eq!((known.replay_id, known.count), (Some(Uuid::from_u128(9)), 0));
}

#[test]
fn what_is_resolved_is_claimed_only_where_that_is_meant() {
    let mut index = Index::default();
    index.apply(PLACE, claim(1), 0);
    assert_eq!(index.apply(PLACE, replayed(1), 1), Effect::Result);
    assert_eq!(index.apply(PLACE, claim(2), 2), Effect::Void);
    assert_eq!(index.apply(PLACE, failed(2), 3), Effect::Void);
    assert_eq!(index.state(PLACE).result().as_deref(), Some("success: orders/0/3"));
    let again = of(2, Outcome::Claimed { lease: 100, again: true });
    assert_eq!(index.apply(PLACE, again, 4), Effect::Claimed { from: None });
    assert!(!index.state(PLACE).is_resolved());
    assert_eq!(index.resolved(0, 0..100), 0);
}

#[test]
fn a_failure_leaves_the_letter_to_the_next_run() {
    let mut index = Index::default();
    index.apply(PLACE, claim(1), 0);
    index.apply(PLACE, failed(1), 1);
    assert_eq!(index.state(PLACE), State::Failed { at: 1, reason: "full".to_owned() });
    assert_eq!(index.apply(PLACE, claim(2), 2), Effect::Claimed { from: None });
    index.clear(PLACE);
    assert_eq!(index.state(PLACE), State::Unresolved);
    assert_eq!(index.known(PLACE), Known::default());
}

#[test]
fn who_lost_a_letter_says_nothing_of_it_but_that_it_was_sent() {
    let discarded = |id| of(id, Outcome::Discarded { reason: "old".to_owned() });
    let mut index = Index::default();
    index.apply(PLACE, claim(1), 0);
    index.apply(PLACE, claim(2), 100);
    assert_eq!(index.apply(PLACE, failed(1), 101), Effect::Void);
    assert_eq!(index.apply(PLACE, discarded(3), 102), Effect::Void);
    assert_eq!(index.known(PLACE).claimed_by, Some(run(2)));
    assert_eq!(index.apply(PLACE, replayed(1), 103), Effect::Result);
    assert_eq!(index.known(PLACE).maybe_at, [TopicPartition::new("orders", 0)], "the other run may have sent it, too");
    // When the run has died, it may be discarded.
    let mut index = Index::default();
    index.apply(PLACE, claim(1), 0);
    assert_eq!(index.apply(PLACE, discarded(3), 100), Effect::Result);
}

#[test]
fn marks_of_another_topic_of_the_name_hold_nobody_up() {
    let of_topic = |id, mark| Mark { topic_id: Some(Uuid::from_u128(id)), ..mark };
    let mut index = Index::default();
    index.apply(PLACE, of_topic(1, replayed(1)), 0);
    assert_eq!(index.apply(PLACE, of_topic(1, claim(2)), 1), Effect::Void);
    assert_eq!(index.apply(PLACE, claim(2), 1), Effect::Void, "who does not know the id means the same topic");
    assert_eq!(index.apply(PLACE, of_topic(2, claim(2)), 1), Effect::Claimed { from: None });
    assert!(!index.is_resolved(PLACE));
}

#[test]
fn a_replayed_letter_takes_its_lineage_along() {
    let mut index = Index::default();
    index.apply(PLACE, replayed(1), 1);
    let known = index.known(PLACE);
    assert_eq!((known.replay_id, known.count), (Some(Uuid::from_u128(9)), 1));
    assert_eq!(known.also_at.iter().map(ToString::to_string).collect::<Vec<_>>(), ["orders/0/3"]);
    let mark = index.mark(PLACE, None, &run(1)).unwrap();
    assert_eq!(mark, Mark { replayed_at: Some(1), ..replayed(1) });
}

#[test]
fn of_too_many_the_older_half_is_dropped() {
    let mut index = Index::new(false, Some(100));
    for offset in 0..151 {
        index.apply(Place { partition: 0, offset }, replayed(1), offset / 10);
        assert!(index.details.len() <= 100);
    }
    assert!(index.has_dropped());
    assert!(index.mark(Place { partition: 0, offset: 150 }, None, &run(1)).is_some());
    assert_eq!(index.mark(Place { partition: 0, offset: 0 }, None, &run(1)), None);
    assert_eq!(index.resolved(0, 0..151), 151);
}

#[test]
fn a_replayed_letter_costs_some_hundred_bytes() {
    assert!(size_of::<(Place, Detail)>() <= 112, "{}", size_of::<(Place, Detail)>());
}

proptest! {
    #[test]
    fn numbers_agree_with_states(marks in prop::collection::vec((0..2i32, 0..6i64, prop::option::weighted(0.9, mark())), 0..60)) {
        let (mut index, mut numbers) = (Index::new(false, None), Index::new(true, None));
        for (at, (partition, offset, mark)) in marks.into_iter().enumerate() {
            let place = Place { partition, offset };
            match mark {
                Some(mark) => {
                    // Numbers are told of one topic's marks only.
                    let mark = Mark { topic_id: None, ..mark };
                    let effect = index.apply(place, mark.clone(), at as i64);
                    prop_assert_eq!(numbers.apply(place, mark, at as i64), effect);
                }
                None => {
                    index.clear(place);
                    numbers.clear(place);
                }
            }
        }
        for partition in 0..2 {
            let resolved = |offset: &i64| index.state(Place { partition, offset: *offset }).is_resolved();
            for start in 0..6 {
                let count = (start..6).filter(resolved).count() as u64;
                prop_assert_eq!([index.resolved(partition, start..6), numbers.resolved(partition, start..6)], [count; 2]);
                let first = (start..6).find(|offset| !resolved(offset)).unwrap_or(6);
                prop_assert_eq!([index.first_unresolved(partition, start, 6), numbers.first_unresolved(partition, start, 6)], [first; 2]);
            }
        }
    }
}
