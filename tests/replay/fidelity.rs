//! What is sent is what failed, byte for byte, or nothing.

use bezoar::dead_letter::{DeadLetterFormat, Profile, Rung};
use bezoar::record::{Header, ProducerRecord};
use bezoar::replay::{Outcome, ReplayTimestamp, Selection};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::fixture::{Owned, partition};
use crate::stand::{Stand, letter, options, outcomes, without_lineage};

fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop::option::of(prop::collection::vec(any::<u8>(), 0..40))
}

/// Records of any kind: nulls, empty values, headers that repeat, and times that a broker takes.
fn record() -> impl Strategy<Value = ProducerRecord> {
    let name = prop_oneof!["[a-c]", "\\PC{0,10}"];
    let header = (name, bytes()).prop_map(|(name, value)| Header { name: name.into(), value: value.map(Into::into) });
    let now = 1_800_000_000_000i64;
    (bytes(), bytes(), prop::collection::vec(header, 0..5), 0..now).prop_map(|(key, value, headers, timestamp)| {
        let (key, value) = (key.map(Into::into), value.map(Into::into));
        ProducerRecord { key, value, headers, timestamp: Some(timestamp), ..ProducerRecord::to("") }
    })
}

fn formats() -> Vec<DeadLetterFormat> {
    let with = |profile| DeadLetterFormat { profiles: vec![profile], ..DeadLetterFormat::default() };
    vec![DeadLetterFormat::default(), with(Profile::Plain), with(Profile::Envelope)]
}

#[test]
fn what_is_replayed_is_the_original() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let stand = runtime.block_on(Stand::new(2));
    let cases = Config { cases: 16, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(cases);
    let records = prop::collection::vec((0..2i32, record(), 0..3usize), 1..12);
    let run = runner.run(&records, |records| {
        runtime.block_on(async {
            let mut originals: [Vec<Owned>; 2] = Default::default();
            for (number, record, format) in records {
                let at = stand.fixture.produce(&partition(&stand.source, number), vec![record]).await[0];
                let original = stand.records_from(&stand.source, number, at).await.remove(0);
                let dead = letter(&original, Rung::Full, &formats()[format]);
                stand.fixture.produce(&partition(&stand.dead, number), vec![dead]).await;
                originals[number as usize].push(original.into());
            }
            let before = [
                stand.records_from(&stand.source, 0, 0).await.len(),
                stand.records_from(&stand.source, 1, 0).await.len(),
            ];
            let count = originals.iter().map(Vec::len).sum::<usize>() as u64;
            let (report, told) = stand.replay(&options(|_| {})).await;
            prop_assert_eq!((report.success, report.failed), (count, 0), "{:?}", told);
            for (number, originals) in (0..).zip(&originals) {
                let sent = stand.records_from(&stand.source, number, before[number as usize] as i64).await;
                prop_assert_eq!(sent.len(), originals.len());
                for (original, sent) in originals.iter().zip(sent) {
                    let sent = Owned::from(sent);
                    prop_assert_eq!((&sent.key, &sent.value), (&original.key, &original.value));
                    prop_assert_eq!(&without_lineage(&sent.headers), &original.headers);
                    prop_assert_eq!(sent.timestamp, original.timestamp);
                }
            }
            Ok(())
        })
    });
    run.unwrap();
}

#[tokio::test]
async fn what_was_left_out_is_fetched_from_the_source() {
    let stand = Stand::new(1).await;
    let record = ProducerRecord::to("").key("key").value(vec![0xff, 0, 7]).header("trace", "1");
    let offsets = stand.fixture.produce(&partition(&stand.source, 0), vec![record; 5]).await;
    assert_eq!(offsets, [0, 1, 2, 3, 4]);
    let originals = stand.records_from(&stand.source, 0, 0).await;
    let reduced = |index: usize, rung| letter(&originals[index], rung, &DeadLetterFormat::default());
    let raw = format!(
        r#"{{"original_topic": "{}", "original_partition": 0, "original_offset": 3, "original_key": "key", "original_value": {{"raw": "\ufffd\u0000\u0007"}}, "error_type": "E", "error_message": "m", "retry_count": 0}}"#,
        stand.source
    );
    let kip = ProducerRecord::to("").header("__dlq.errors.topic", stand.source.clone());
    let kip = kip.header("__dlq.errors.partition", "0").header("__dlq.errors.offset", "4");
    let letters = vec![
        reduced(0, Rung::WithoutValue),
        reduced(1, Rung::WithoutUserHeaders),
        reduced(2, Rung::ContextOnly),
        ProducerRecord::to("").value(raw),
        kip,
    ];
    stand.fixture.produce(&partition(&stand.dead, 0), letters).await;
    let (report, told) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.failed), (5, 0), "{told:?}");
    let replayed = stand.replayed(&stand.source, 0).await;
    assert_eq!(replayed.len(), 5);
    for (sent, original) in replayed.iter().zip(originals) {
        let original = Owned::from(original);
        assert_eq!((&sent.key, &sent.value, sent.timestamp), (&original.key, &original.value, original.timestamp));
        assert_eq!(without_lineage(&sent.headers), original.headers);
    }
}

#[tokio::test]
async fn what_cannot_be_had_whole_is_not_sent() {
    let stand = Stand::new(1).await;
    stand.fixture.produce(&partition(&stand.source, 0), vec![ProducerRecord::to("").key("a").value("1")]).await;
    let original = stand.records_from(&stand.source, 0, 0).await.remove(0);
    let envelope = |offset: i64, key: &str, raw: &str| {
        ProducerRecord::to("").value(format!(
            r#"{{"original_topic": "{}", "original_partition": 0, "original_offset": {offset}, "original_key": "{key}", "original_value": {{"raw": "{raw}"}}, "error_type": "E", "error_message": "m", "retry_count": 0}}"#,
            stand.source
        ))
    };
    let changed =
        ProducerRecord { key: Some("b".into()), ..letter(&original, Rung::WithoutValue, &Default::default()) };
    let letters =
        vec![envelope(7, "a", "1"), envelope(0, "b", "1"), envelope(0, "a", "2"), changed, envelope(0, "a", "1")];
    stand.fixture.produce(&partition(&stand.dead, 0), letters).await;
    let (report, told) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.failed), (1, 4), "{told:?}");
    let reasons: Vec<String> = outcomes(told)
        .into_iter()
        .filter_map(|outcome| match outcome {
            Outcome::Failed(reason) => Some(reason),
            _ => None,
        })
        .collect();
    for (reason, words) in reasons.iter().zip(["past the end", "another key", "another value", "another key"]) {
        assert!(reason.contains("original cannot be had") && reason.contains(words), "{reason}");
    }
}

#[tokio::test]
async fn what_frameworks_note_of_failures_is_taken_off() {
    let stand = Stand::new(1).await;
    let be = |number: i32| number.to_be_bytes().to_vec();
    let spring = ProducerRecord::to("")
        .value("1")
        .header("trace", "1")
        .header("retry_topic-attempts", be(3))
        .header("kafka_dlt-original-topic", stand.source.clone())
        .header("kafka_dlt-original-partition", be(0))
        .header("kafka_dlt-original-offset", 5i64.to_be_bytes().to_vec())
        .header("kafka_dlt-exception-message", "boom");
    stand.fixture.produce(&partition(&stand.dead, 0), vec![spring]).await;
    let (report, told) = stand.replay(&options(|_| {})).await;
    assert_eq!(report.success, 1, "{told:?}");
    let sent = stand.replayed(&stand.source, 0).await.remove(0);
    assert_eq!(without_lineage(&sent.headers), [Header::new("trace", "1")]);
}

#[tokio::test]
async fn the_source_of_another_time_is_not_asked_for_the_original() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fixture.produce(&partition(&stand.source, 0), vec![ProducerRecord::to("").value("1").timestamp(5)]).await;
    let original = stand.records_from(&stand.source, 0, 0).await.remove(0);
    let reduced = letter(&original, Rung::WithoutValue, &Default::default());
    stand.fixture.produce(&partition(&stand.dead, 0), vec![reduced]).await;
    broker.recreate_topic(&stand.source).unwrap();
    let same = ProducerRecord::to("").value("other").timestamp(5);
    stand.fixture.produce(&partition(&stand.source, 0), vec![same]).await;
    let (report, told) = stand.replay(&options(|_| {})).await;
    assert_eq!(report.failed, 1);
    assert!(
        matches!(&told[0].outcome, Outcome::Failed(reason) if reason.contains("deleted and created anew")),
        "{told:?}"
    );
}

#[tokio::test]
async fn the_timestamp_is_the_original_one_unless_it_would_not_be_kept() {
    let stand = Stand::new(1).await;
    let old = ProducerRecord::to("").value("old").timestamp(1_000_000_000_000);
    stand.fail(0, vec![old.clone(), old]).await;
    let these = |offset| Selection::These(vec![stand.at(0, offset)]);
    let now = options(|options| options.timestamp = ReplayTimestamp::Now);
    assert_eq!(stand.replay_these(&these(0), &now).await.0.success, 1);
    // A target that keeps records for a week.
    let week = crate::fixture::unique("week");
    let topic = bezoar::broker::NewTopic::new(&week, 1).replication(1).config("retention.ms", "604800000");
    stand.fixture.ports.admin.create_topic(topic).await.unwrap();
    let to = options(|options| {
        options.target = Some(week.as_str().into());
        options.allowed_targets = vec![week.as_str().into()];
    });
    let (report, told) = stand.replay_these(&these(1), &to).await;
    assert_eq!(report.success, 1);
    assert!(told[0].warning.as_ref().is_some_and(|warning| warning.contains("present time")), "{told:?}");
    for topic in [&stand.source, &week] {
        let sent = stand.replayed(topic, 0).await;
        assert!(sent[0].timestamp > 1_500_000_000_000, "{topic}: {}", sent[0].timestamp);
    }
}
