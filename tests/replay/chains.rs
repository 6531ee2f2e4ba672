//! Records that fail and are replayed again and again, while the topics around them change.

use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, Fault};
use bezoar::record::ProducerRecord;
use bezoar::replay::State;

use crate::fixture::{eventually, partition};
use crate::origins::{Told, catch_up, consumer, last};
use crate::stand::{Stand, header, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_origin_is_known_after_the_first_letter_has_gone() {
    let stand = Stand::new(1).await;
    let told = Told::default();
    let consumer = consumer(&stand, &told, &stand.source).start().await.unwrap();
    stand.fixture.produce(&partition(&stand.source, 0), vec![ProducerRecord::to("").value("bad")]).await;
    catch_up(&consumer).await;
    let first = format!("{}/0/0", stand.source);
    assert_eq!(stand.replay(&options(|_| {})).await.0.success, 1);
    catch_up(&consumer).await;
    // Retention takes the first letter, not the second.
    stand.fixture.ports.admin.delete_records(partition(&stand.dead, 0), 1).await.unwrap();
    assert_eq!(stand.replay(&options(|_| {})).await.0.success, 1);
    catch_up(&consumer).await;
    assert_eq!(last(&told), (format!("{}/0/2", stand.source), first));
    consumer.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_origin_is_known_at_once_where_another_topic_of_the_name_had_a_letter_at_that_place() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..1).await;
    assert_eq!(stand.replay(&options(|_| {})).await.0.success, 1);
    broker.recreate_topic(&stand.dead).unwrap();
    stand.fail_values(0, 1..2).await;
    // The claim is written, the result much later.
    let marks = format!("{}.replays", stand.dead);
    broker.inject(Fault::on(Api::Produce).topic(&marks).after(1).times(1).delay(Duration::from_secs(8)));
    let told = Told::default();
    let consumer = consumer(&stand, &told, &stand.source).start().await.unwrap();
    let options = options(|_| {});
    let replay = stand.replay(&options);
    let handled = eventually("the replayed record is handled", async || told.lock().unwrap().len() == 4);
    let (handled, (report, _)) = tokio::join!(
        async {
            handled.await;
            last(&told)
        },
        replay
    );
    assert_eq!(report.success, 1);
    assert_eq!(handled, (format!("{}/0/3", stand.source), format!("{}/0/2", stand.source)));
    consumer.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_failed_does_not_forget_how_often_it_was_replayed_before() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..1).await;
    assert_eq!(stand.replay(&options(|_| {})).await.0.success, 1);
    let refused = Fault::on(Api::Produce).topic(&stand.source).times(1).error(ErrorCode::MESSAGE_TOO_LARGE);
    broker.inject(refused);
    assert_eq!(stand.replay(&options(|options| options.again = true)).await.0.failed, 1);
    assert!(matches!(stand.all().await[0].state, State::Failed { .. }));
    assert_eq!(stand.replay(&options(|_| {})).await.0.success, 1);
    let counts: Vec<_> =
        stand.replayed(&stand.source, 0).await.iter().map(|it| header(it, "bezoar.replay.count")).collect();
    assert_eq!(counts, [Some("1".to_owned()), Some("2".to_owned())]);
}
