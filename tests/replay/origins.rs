//! Where a replayed record came from first, as its handler is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::NewTopic;
use bezoar::consumer::{Assignment, ConsumerBuilder};
use bezoar::embedded::{Api, Fault};
use bezoar::policy::{Backoff, DeadLetterTopics, Policies};
use bezoar::record::{Header, ProducerRecord, Record};
use bezoar::{Consumer, Delivery, Event, Failure, Raw, handler_fn};

use crate::fixture::{PATIENCE, partition, unique};
use crate::stand::{Stand, header, options};

/// Each delivery: where the record is, and where it came from first.
pub(crate) type Told = Arc<Mutex<Vec<(String, String)>>>;

pub(crate) fn consumer(stand: &Stand, told: &Told, topic: &str) -> ConsumerBuilder {
    let told = Arc::clone(told);
    let handler = handler_fn(move |record: Record, delivery: Delivery| {
        let told = Arc::clone(&told);
        async move {
            let origin = delivery.origin().await?;
            told.lock().unwrap().push((delivery.id().to_string(), origin.to_string()));
            match (record.value(), record.headers().text("bezoar.replay.count")) {
                // It fails until it was replayed twice.
                (Some(b"bad"), None | Some("1")) => Err(Failure::validation("bad")),
                _ => Ok(()),
            }
        }
    });
    let hasty = |_, policy: bezoar::policy::Policy| policy.backoff(Backoff::fixed(Duration::from_millis(1)));
    Consumer::builder(unique("group"))
        .bootstrap(&stand.fixture.address)
        .assignment(Assignment::Manual)
        .policies(Policies::default().with_each(hasty))
        .dead_letter_topics(DeadLetterTopics::single())
        .topic(topic, Raw, handler)
}

pub(crate) async fn catch_up(consumer: &Consumer) {
    tokio::time::timeout(PATIENCE, consumer.caught_up()).await.unwrap();
}

pub(crate) fn last(told: &Told) -> (String, String) {
    told.lock().unwrap().last().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_fails_twice_and_is_replayed_twice_has_the_origin_that_it_began_with() {
    let stand = Stand::new(1).await;
    let told = Told::default();
    let consumer = consumer(&stand, &told, &stand.source).start().await.unwrap();
    let record = ProducerRecord::to("").value("bad").header("a", "1");
    stand.fixture.produce(&partition(&stand.source, 0), vec![record]).await;
    catch_up(&consumer).await;
    let first = format!("{}/0/0", stand.source);
    assert_eq!(last(&told), (first.clone(), first.clone()));
    for replays in 1..=2 {
        let (report, progress) = stand.replay(&options(|_| {})).await;
        assert_eq!(report.success, 1, "{progress:?}");
        catch_up(&consumer).await;
        assert_eq!(last(&told), (format!("{}/0/{replays}", stand.source), first.clone()));
    }
    // It is handled now, and nothing is left.
    let (report, _) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.skipped), (0, 0));
    assert_eq!(told.lock().unwrap().len(), 3);
    consumer.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_alone_are_not_believed() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..2).await;
    assert_eq!(stand.replay(&options(|_| {})).await.0.success, 2);
    let replayed = stand.replayed(&stand.source, 0).await;
    let of = |headers: &[(&str, String)]| {
        let headers = headers.iter().map(|(name, value)| Header::new(name.to_string(), value.clone()));
        ProducerRecord { headers: headers.collect(), ..ProducerRecord::to("").value("forged") }
    };
    let place = stand.at(0, 0).to_string();
    let id = header(&replayed[0], "bezoar.replay.id").unwrap();
    let forged = vec![
        // A true id and a true place, elsewhere; a wrong id; a letter that there is not; no id; garbage; another's topic.
        of(&[("bezoar.replay.of", place.clone()), ("bezoar.replay.id", id.clone())]),
        of(&[("bezoar.replay.of", place.clone()), ("bezoar.replay.id", uuid::Uuid::new_v4().to_string())]),
        of(&[("bezoar.replay.of", stand.at(0, 77).to_string()), ("bezoar.replay.id", id.clone())]),
        of(&[("bezoar.replay.of", place)]),
        of(&[("bezoar.replay.of", "garbage".into()), ("bezoar.replay.id", "garbage".into())]),
        of(&[("bezoar.replay.of", "payments.dlq/0/0".into()), ("bezoar.replay.id", id)]),
    ];
    stand.fixture.produce(&partition(&stand.source, 0), forged).await;
    let told = Told::default();
    let consumer = consumer(&stand, &told, &stand.source).start().await.unwrap();
    catch_up(&consumer).await;
    let at = |offset: i32| format!("{}/0/{offset}", stand.source);
    let wanted = (0..10).map(|offset| (at(offset), at(if (2..4).contains(&offset) { offset - 2 } else { offset })));
    assert_eq!(*told.lock().unwrap(), wanted.collect::<Vec<_>>());
    consumer.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replays_to_another_topic_are_believed_where_they_are_trusted() {
    let stand = Stand::new(1).await;
    let fixed = unique("fixed");
    let topic = NewTopic::new(&fixed, 1).replication(1).config("retention.ms", "-1");
    stand.fixture.ports.admin.create_topic(topic).await.unwrap();
    stand.fail_values(0, 0..1).await;
    let to = options(|options| {
        options.target = Some(fixed.as_str().into());
        options.allowed_targets = vec![fixed.as_str().into()];
    });
    assert_eq!(stand.replay(&to).await.0.success, 1);
    let at = format!("{fixed}/0/0");
    for (trusted, origin) in [(false, at.clone()), (true, format!("{}/0/0", stand.source))] {
        let told = Told::default();
        let mut builder = consumer(&stand, &told, &fixed);
        if trusted {
            builder = builder.trusted_replays([stand.dead.as_str()]);
        }
        let consumer = builder.start().await.unwrap();
        catch_up(&consumer).await;
        assert_eq!(last(&told), (at.clone(), origin));
        consumer.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn a_trusted_topic_must_have_a_name_that_a_topic_can_have() {
    let stand = Stand::new(1).await;
    let builder = consumer(&stand, &Told::default(), &stand.source).trusted_replays(["orders dlq"]);
    let error = builder.start().await.err().unwrap().to_string();
    assert!(error.contains("trusted_replays = \"orders dlq\""), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn marks_that_cannot_be_read_are_a_transient_failure() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..1).await;
    assert_eq!(stand.replay(&options(|_| {})).await.0.success, 1);
    let marks = format!("{}.replays", stand.dead);
    let fault = broker.inject(Fault::on(Api::Fetch).topic(&marks).forever().drop_before_effect());
    let told = Told::default();
    let builder = consumer(&stand, &told, &stand.source);
    let mut events = builder.events();
    let consumer = builder.start().await.unwrap();
    let retrying = async {
        loop {
            if let Some(Event::Retrying { category, message, .. }) = events.next().await {
                return (category, message);
            }
        }
    };
    let (category, message) = tokio::time::timeout(PATIENCE, retrying).await.unwrap();
    assert_eq!(category, bezoar::policy::Category::Transient);
    assert!(message.contains("is not known for now"), "{message}");
    fault.remove();
    catch_up(&consumer).await;
    assert_eq!(last(&told), (format!("{}/0/1", stand.source), format!("{}/0/0", stand.source)));
    consumer.shutdown().await.unwrap();
}
