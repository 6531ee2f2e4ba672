//! Marks that are many or large.

use std::num::NonZeroU32;

use bezoar::replay::{Filter, Selection, State};

use crate::stand::{Stand, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_may_be_under_way() {
    let stand = Stand::new(1).await;
    for start in (0..4000).step_by(500) {
        stand.fail_values(0, start..start + 500).await;
    }
    let (report, _) = stand.replay(&options(|options| options.in_flight = NonZeroU32::MAX)).await;
    assert_eq!((report.success, report.failed), (4000, 0));
    assert_eq!(stand.replayed_values().await.len(), 4000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_reason_may_be_given_for_many() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..600).await;
    let reason = "obsolete ".repeat(500);
    let letters = stand.letters().await;
    let report = letters.discard(&Selection::Matching(Filter::new()), &reason).await.unwrap();
    assert_eq!(report.discarded, 600);
    assert!(stand.all().await.iter().all(|entry| matches!(entry.state, State::Discarded { .. })));
}
