//! Letters that are discarded while they are replayed.

use std::time::Duration;

use bezoar::broker::OffsetSpec;
use bezoar::embedded::{Api, Fault};
use bezoar::replay::{Filter, Selection, State};

use crate::fixture::{eventually, partition};
use crate::stand::{Stand, options};
use crate::transactional::Transactional;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_discarded_behind_an_open_transaction_is_not_sent() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..2).await;
    assert_eq!(stand.replay_these(&Selection::These(vec![stand.at(0, 0)]), &options(|_| {})).await.0.success, 1);
    let marks = format!("{}.replays", stand.dead);
    let mut producer = Transactional::start(&stand.fixture, &marks).await;
    producer.write(&["open"]).await;
    let selection = Selection::Matching(Filter::new());
    assert_eq!(stand.letters().await.discard(&selection, "obsolete").await.unwrap().discarded, 1);
    let end = async || stand.fixture.ports.admin.offset(partition(&marks, 0), OffsetSpec::Latest).await.unwrap();
    let before = end().await;
    let options = options(|_| {});
    let committing = async {
        eventually("the letter is claimed", async || end().await > before).await;
        producer.commit().await;
    };
    let ((report, told), ()) = tokio::join!(stand.replay(&options), committing);
    assert_eq!((report.success, report.skipped), (0, 1), "{told:?}");
    assert!(stand.all().await.iter().all(|entry| entry.state.is_resolved()));
}
