//! Dead letters that would have a run read, for who wrote them, what they name as their original.

use std::num::NonZeroU32;

use bezoar::dead_letter::{DeadLetterFormat, Rung};
use bezoar::record::ProducerRecord;
use bezoar::replay::Outcome;

use crate::fixture::{partition, unique};
use crate::stand::{Stand, letter, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_that_names_the_marks_as_its_original_stops_nobody() {
    let stand = Stand::new(1).await;
    let fixed = unique("fixed");
    stand.create(&fixed).await;
    stand.fail_values(0, 0..3).await;
    let to = options(|options| {
        options.target = Some(fixed.as_str().into());
        options.allowed_targets = vec![fixed.as_str().into()];
        options.in_flight = NonZeroU32::MIN;
    });
    assert_eq!(stand.replay(&to).await.0.success, 3);
    stand.fail_values(0, 3..6).await;
    let marks = stand.records_from(&format!("{}.replays", stand.dead), 0, 0).await;
    let forged = letter(&marks[0], Rung::ContextOnly, &DeadLetterFormat::default());
    stand.fixture.produce(&partition(&stand.dead, 0), vec![forged]).await;
    stand.fail_values(0, 6..9).await;
    let (report, told) = stand.replay(&to).await;
    assert_eq!((report.success, report.failed), (6, 1), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_of_another_topic_is_not_fetched_for_a_letter_that_names_it() {
    let stand = Stand::new(1).await;
    let (fixed, secret) = (unique("fixed"), unique("payments"));
    stand.create(&fixed).await;
    stand.create(&secret).await;
    stand.fixture.produce(&partition(&secret, 0), vec![ProducerRecord::to("").key("card").value("4711")]).await;
    let record = &stand.records_from(&secret, 0, 0).await[0];
    let forged = letter(record, Rung::ContextOnly, &DeadLetterFormat::default());
    stand.fixture.produce(&partition(&stand.dead, 0), vec![forged]).await;
    let to = |sources: &[&str]| {
        options(|options| {
            options.target = Some(fixed.as_str().into());
            options.allowed_targets = sources.iter().chain([&fixed.as_str()]).map(|it| (*it).into()).collect();
        })
    };
    let (report, told) = stand.replay(&to(&[])).await;
    assert_eq!((report.success, report.failed), (0, 1), "{told:?}");
    assert!(matches!(&told[0].outcome, Outcome::Failed(reason) if reason.contains("allow")), "{told:?}");
    assert!(stand.replayed(&fixed, 0).await.is_empty());
    // Where it is allowed, it is.
    let (report, told) = stand.replay(&to(&[secret.as_str()])).await;
    assert_eq!(report.success, 1, "{told:?}");
}
