use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use proptest::prelude::*;

use super::world::World;
use crate::group::settings::Assignor;

#[derive(Debug, Clone, Copy)]
enum Act {
    Start,
    Kill,
    Leave,
    Cut,
    FailOver,
    ChangeTopics,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Start),
        1 => Just(Act::Kill),
        1 => Just(Act::Leave),
        3 => Just(Act::Cut),
        1 => Just(Act::FailOver),
        1 => Just(Act::ChangeTopics),
    ]
}

fn live(assignor: Assignor, statics: bool, seed: u64, acts: &[(Act, u64)]) {
    let mut world = World::new(seed, assignor, statics);
    let result = catch_unwind(AssertUnwindSafe(|| {
        world.start();
        for (act, pause) in acts {
            match act {
                Act::Start => world.start(),
                Act::Kill => world.kill(),
                Act::Leave => world.leave(),
                Act::Cut => world.cut(),
                Act::FailOver => world.fail_over(),
                Act::ChangeTopics => world.change_topics(),
            }
            world.run(*pause);
        }
        if statics {
            // A static member that comes back with other topics is not heard before the next rebalance.
            world.start_another();
        }
        // Cuts and drains are over after half a minute; what they led to takes as long as a few sessions, where static members
        // were fenced by late joins.
        world.run(300_000);
        world.assert_at_rest();
    }));
    if let Err(panic) = result {
        for line in &world.log[world.log.len().saturating_sub(1500)..] {
            eprintln!("{line}");
        }
        resume_unwind(panic);
    }
}

/// Minutes of simulated life each: a quarter of the usual number of them.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases / 4, ..usual }
}

proptest! {
    #![proptest_config(config())]

    /// Members come, go, die and are cut off, the coordinator moves and topics change: nobody processes what another one
    /// does, an eager member owns nothing when it joins, nobody runs hot, and all comes to rest.
    #[test]
    fn members_share_what_there_is_and_never_overlap(
        cooperative: bool,
        statics: bool,
        seed: u64,
        acts in prop::collection::vec((act(), prop_oneof![1..800u64, 800..20_000u64]), 1..25),
    ) {
        let eager = if seed.is_multiple_of(2) { Assignor::Range } else { Assignor::RoundRobin };
        live(if cooperative { Assignor::CooperativeSticky } else { eager }, statics, seed, &acts);
    }
}
