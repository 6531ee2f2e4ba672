//! Letters that are discarded while they are replayed.

use std::time::Duration;

use bezoar::embedded::{Api, Fault};
use bezoar::replay::{Filter, Selection, State};

use crate::fixture::eventually;
use crate::stand::{Stand, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_run_claims_while_letters_are_read_is_not_discarded() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..5).await;
    // Reading takes its time once the marks are read, and so does sending.
    let reading = broker.inject(Fault::on(Api::Fetch).topic(&stand.dead).times(1).delay(Duration::from_secs(4)));
    let letters = stand.letters().await;
    let selection = Selection::Matching(Filter::new());
    let discard = letters.discard(&selection, "obsolete");
    let replay = async {
        eventually("the letters are being read", async || reading.fired() == 1).await;
        broker.inject(Fault::on(Api::Produce).topic(&stand.source).times(1).delay(Duration::from_secs(8)));
        stand.replay(&options(|_| {})).await.0
    };
    let (discarded, replayed) = tokio::join!(discard, replay);
    let discarded = discarded.unwrap();
    assert_eq!((discarded.discarded, discarded.claimed, replayed.success), (0, 5, 5), "{discarded:?}");
    assert!(stand.all().await.iter().all(|entry| matches!(entry.state, State::Replayed { .. })));
}
