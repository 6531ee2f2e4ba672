use proptest::prelude::*;

use super::*;

/// What a broker does with sessions.
#[derive(Debug, Default)]
struct Broker {
    session: Option<(i32, i32, HashMap<Key, Wanted>)>,
    last_id: i32,
    /// It has no room for sessions.
    full: bool,
}

impl Broker {
    /// What the request reads: all partitions with their offsets, and the id answered.
    fn serve(&mut self, plan: &Plan) -> Result<(HashMap<Key, Wanted>, i32), ErrorCode> {
        if plan.epoch == 0 {
            assert!(plan.forgotten.is_empty());
            if self.session.as_ref().is_some_and(|(id, ..)| *id == plan.id) {
                self.session = None;
            }
            let read: HashMap<_, _> = plan.named.iter().cloned().collect();
            if self.full {
                return Ok((read, 0));
            }
            self.last_id += 1;
            self.session = Some((self.last_id, 1, read.clone()));
            return Ok((read, self.last_id));
        }
        let Some((id, epoch, held)) = self.session.as_mut().filter(|(id, ..)| *id == plan.id) else {
            return Err(ID_NOT_FOUND);
        };
        if *epoch != plan.epoch {
            return Err(INVALID_EPOCH);
        }
        *epoch += 1;
        held.extend(plan.named.iter().cloned());
        held.retain(|key, _| !plan.forgotten.contains(key));
        Ok((held.clone(), *id))
    }
}

#[derive(Debug, Clone)]
enum Happens {
    Nothing,
    RequestLost,
    AnswerLost,
    Evicted,
    OutOfStep,
    Full(bool),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        6 => Just(Happens::Nothing),
        1 => Just(Happens::RequestLost),
        1 => Just(Happens::AnswerLost),
        1 => Just(Happens::Evicted),
        1 => Just(Happens::OutOfStep),
        1 => any::<bool>().prop_map(Happens::Full),
    ]
}

fn wanted(by_id: bool, partitions: &HashMap<i32, (i64, u128)>) -> Vec<(Key, Wanted)> {
    let one = |(number, (offset, id)): (&i32, &(i64, u128))| {
        let key = (TopicPartition::new("orders", *number), by_id.then(|| Uuid::from_u128(*id)));
        (key, Wanted { offset: *offset, max_bytes: 1, leader_epoch: 0, fetched_epoch: -1 })
    };
    partitions.iter().map(one).collect()
}

proptest! {
    #[test]
    fn what_the_broker_reads_is_what_was_asked_for(
        rounds in prop::collection::vec(
            (prop::collection::hash_map(0..6i32, (0..4i64, 1..3u128), 1..6), prop::bool::weighted(0.8), happens()), 1..40),
    ) {
        let mut session = Session::default();
        let mut broker = Broker::default();
        let mut refused = 0;
        for (partitions, by_id, happens) in rounds {
            match happens {
                Happens::Evicted => broker.session = None,
                Happens::OutOfStep => if let Some((_, epoch, _)) = &mut broker.session { *epoch += 1; },
                Happens::Full(full) => broker.full = full,
                _ => {}
            }
            let wanted = wanted(by_id, &partitions);
            let plan = session.plan(&wanted, by_id);
            if matches!(happens, Happens::RequestLost) {
                session.failed();
                continue;
            }
            match broker.serve(&plan) {
                _ if matches!(happens, Happens::AnswerLost) => session.failed(),
                Ok((read, id)) => {
                    prop_assert_eq!(read, wanted.into_iter().collect::<HashMap<_, _>>());
                    session.answered(id);
                    refused = 0;
                }
                Err(code) => {
                    prop_assert!(Session::concerns(code));
                    session.refused(code);
                    refused += 1;
                    prop_assert!(refused < 2, "a new session is never refused");
                }
            }
        }
    }
}

#[test]
fn what_has_not_changed_is_not_named_again() {
    let mut session = Session::default();
    let partitions = HashMap::from([(0, (5, 1)), (1, (7, 1))]);
    let first = session.plan(&wanted(true, &partitions), true);
    assert_eq!((first.id, first.epoch, first.named.len()), (0, 0, 2));
    session.answered(9);
    let second = session.plan(&wanted(true, &partitions), true);
    assert_eq!(second, Plan { id: 9, epoch: 1, named: Vec::new(), forgotten: Vec::new() });
    session.answered(9);
    let third = session.plan(&wanted(true, &HashMap::from([(0, (6, 1))])), true);
    assert_eq!((third.epoch, third.named.len(), third.forgotten.len()), (2, 1, 1));
}

#[test]
fn ends_are_kept_while_the_broker_remembers_the_partition() {
    let mut session = Session::default();
    let both = wanted(true, &HashMap::from([(0, (5, 1)), (1, (5, 1))]));
    session.plan(&both, true);
    session.answered(7);
    for (key, _) in &both {
        session.ends_at(key, 9);
        session.ends_at(key, -1);
        assert_eq!(session.end(key), Some(9), "an answer that tells none changes nothing");
    }
    let one = wanted(true, &HashMap::from([(0, (6, 1))]));
    session.plan(&one, true);
    session.answered(7);
    let dropped = both.iter().map(|(key, _)| key).find(|key| **key != one[0].0).unwrap();
    assert_eq!((session.end(&one[0].0), session.end(dropped)), (Some(9), None));
    session.failed();
    session.plan(&one, true);
    assert_eq!(session.end(&one[0].0), None, "all is told again");
}
