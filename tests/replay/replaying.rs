//! What is replayed: where to, with what, and what is left.

use std::sync::Arc;

use bezoar::record::{Header, ProducerRecord};
use bezoar::replay::{Filter, Fixed, Outcome, Selection, Skip, State, States};

use crate::fixture::partition;
use crate::stand::{Stand, header, name, options, outcomes, without_lineage};

#[tokio::test]
async fn everything_is_replayed_once_to_where_it_came_from() {
    let stand = Stand::new(3).await;
    for number in 0..3 {
        stand.fail_values(number, number * 100..number * 100 + 7).await;
    }
    let (report, told) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.failed, report.skipped), (21, 0, 0));
    assert_eq!(report.maybe_doubled, []);
    assert!(told.iter().all(|progress| progress.id.is_some() && progress.warning.is_none()));
    for number in 0..3 {
        let all = stand.records_from(&stand.source, number, 0).await;
        let (first, replayed) = all.split_at(7);
        for ((before, after), offset) in first.iter().zip(replayed).zip(0..) {
            assert_eq!(
                (before.key(), before.value(), before.timestamp()),
                (after.key(), after.value(), after.timestamp())
            );
            assert_eq!(after.headers().text("bezoar.replay.count"), Some("1"));
            assert_eq!(after.headers().text("bezoar.replay.of"), Some(stand.at(number, offset).to_string().as_str()));
        }
    }
    for entry in stand.all().await {
        let State::Replayed { to, .. } = &entry.state else { panic!("{:?}", entry.state) };
        assert_eq!(to.partition, partition(&stand.source, entry.at.partition.partition()));
        assert_eq!(to.offset, 7 + entry.at.offset);
        assert_eq!(entry.state.result(), Some(format!("success: {to}")));
    }
    // A second run finds nothing to do, and says so where it is asked for these.
    let (report, _) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.failed, report.skipped), (0, 0, 0));
    let these = Selection::These(vec![stand.at(1, 0), stand.at(2, 6)]);
    let (report, told) = stand.replay_these(&these, &options(|_| {})).await;
    assert_eq!((report.success, report.skips.resolved), (0, 2));
    assert_eq!(outcomes(told)[0], Outcome::Skipped(Skip::Resolved(format!("success: {}/1/7", stand.source))));
    assert_eq!(stand.replayed_values().await.len(), 21);
}

#[tokio::test]
async fn again_means_again_and_ends_at_the_limit() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..1).await;
    let again = options(|options| options.again = true);
    for count in 1..=3 {
        let (report, _) = stand.replay(&again).await;
        assert_eq!(report.success, 1, "{count}");
    }
    let (report, told) = stand.replay(&again).await;
    assert_eq!((report.success, report.skips.parked), (0, 1));
    assert_eq!(told[0].outcome, Outcome::Skipped(Skip::Parked(3)));
    let replayed = stand.replayed(&stand.source, 0).await;
    let counts: Vec<_> = replayed.iter().map(|record| header(record, "bezoar.replay.count").unwrap()).collect();
    assert_eq!(counts, ["1", "2", "3"]);
    // All are replays of one letter, and say so.
    let ids: std::collections::BTreeSet<_> = replayed.iter().map(|it| header(it, "bezoar.replay.id")).collect();
    assert_eq!(ids.len(), 1);
    let (report, _) = stand.replay(&options(|options| (options.again, options.max_replays) = (true, 4))).await;
    assert_eq!(report.success, 1);
}

#[tokio::test]
async fn a_record_that_fails_again_is_parked_after_three_replays_and_its_headers_do_not_grow() {
    let stand = Stand::new(1).await;
    let record = ProducerRecord::to("").value("0").header("trace", "1").header("trace", "2");
    stand.fail(0, vec![record]).await;
    for count in 1..=3 {
        let (report, _) = stand.replay(&options(|_| {})).await;
        assert_eq!((report.success, report.skipped), (1, 0), "{count}");
        let failed = stand.records_from(&stand.source, 0, count).await;
        let letter = crate::stand::letter(&failed[0], bezoar::dead_letter::Rung::Full, &Default::default());
        stand.fixture.produce(&partition(&stand.dead, 0), vec![letter]).await;
    }
    let (report, told) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.skips.parked), (0, 1));
    assert_eq!(told[0].outcome, Outcome::Skipped(Skip::Parked(3)));
    for (record, count) in stand.replayed(&stand.source, 0).await.iter().zip(1..) {
        assert_eq!(without_lineage(&record.headers), [Header::new("trace", "1"), Header::new("trace", "2")]);
        assert_eq!(record.headers.len(), 5);
        assert_eq!(header(record, "bezoar.replay.count"), Some(count.to_string()));
        assert_eq!(header(record, "bezoar.replay.of"), Some(format!("{}/0/{}", stand.dead, count - 1)));
    }
}

#[tokio::test]
async fn a_dry_run_sends_nothing_and_tells_where_it_would() {
    let stand = Stand::new(2).await;
    stand.fail_values(1, 0..3).await;
    let (report, told) = stand.replay(&options(|options| options.dry_run = true)).await;
    assert_eq!((report.success, report.skipped, report.skips.dry_run), (0, 3, 3));
    let target = format!("{}/1", stand.source);
    assert!(told.iter().all(|it| it.outcome == Outcome::Skipped(Skip::DryRun(target.clone()))));
    assert!(stand.replayed_values().await.is_empty());
    let marks = format!("{}.replays", stand.dead);
    let found = stand.fixture.ports.admin.topics(vec![marks]).await.unwrap();
    assert_eq!(found, [None]);
}

#[tokio::test]
async fn a_forged_source_is_sent_nowhere() {
    let stand = Stand::new(1).await;
    let victim = crate::fixture::unique("payments");
    stand.fixture.create(&victim, 1).await;
    stand.fail_values(0, 0..1).await;
    let forged = |topic: &str| {
        let record = ProducerRecord::to("").value("evil").header("__dlq.errors.topic", topic.to_owned());
        record.header("__dlq.errors.partition", "0").header("__dlq.errors.offset", "0")
    };
    let marks = format!("{}.replays", stand.dead);
    let topics = [victim.as_str(), &stand.dead, &marks, "__consumer_offsets", ""];
    let records = topics.iter().map(|topic| forged(topic)).collect();
    stand.fixture.produce(&partition(&stand.dead, 0), records).await;
    let (report, told) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.failed), (1, 0), "{told:?}");
    assert_eq!(report.skips.not_allowed + report.skips.no_source, 5, "{told:?}");
    assert!(stand.records_from(&victim, 0, 0).await.is_empty());

    // Somebody who means it can have it.
    let allowed = options(|options| options.allowed_targets = vec![name(&victim)]);
    let (report, _) = stand.replay(&allowed).await;
    assert_eq!(report.success, 1);
    assert_eq!(stand.records_from(&victim, 0, 0).await.len(), 1);
}

#[tokio::test]
async fn a_named_target_is_sent_to_if_it_is_allowed() {
    let stand = Stand::new(3).await;
    let narrow = crate::fixture::unique("fixed");
    stand.fixture.create(&narrow, 1).await;
    stand.fail_values(2, 0..2).await;
    let target = |options: &mut bezoar::replay::ReplayOptions| options.target = Some(name(&narrow));
    let (report, _) = stand.replay(&options(target)).await;
    assert_eq!((report.success, report.skips.not_allowed), (0, 2));
    let allowed = options(|options| {
        target(options);
        options.allowed_targets = vec![name(&narrow)];
    });
    let (report, _) = stand.replay(&allowed).await;
    assert_eq!(report.success, 2);
    // It has no partition 2: by key, then.
    assert_eq!(stand.replayed(&narrow, 0).await.len(), 2);
}

#[tokio::test]
async fn a_letter_of_unknown_source_needs_a_named_target() {
    let stand = Stand::new(1).await;
    let simple = r#"{"original_message": {"order_id": "ord_123"}, "error": "ValueError: no", "failed_at": "2024-01-15T10:30:00Z", "retry_count": 3, "consumer_id": "c", "stack_trace": "…"}"#;
    stand.fixture.produce(&partition(&stand.dead, 0), vec![ProducerRecord::to("").value(simple)]).await;
    let (report, _) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.skips.no_source), (0, 1));
    let (report, _) = stand.replay(&options(|options| options.target = Some(name("elsewhere")))).await;
    assert_eq!((report.success, report.skips.not_allowed), (0, 1));
    let (report, _) = stand.replay(&options(|options| options.target = Some(name(&stand.source)))).await;
    assert_eq!(report.success, 1);
    let value: serde_json::Value =
        serde_json::from_slice(stand.records_from(&stand.source, 0, 0).await[0].value().unwrap()).unwrap();
    assert_eq!(value, serde_json::json!({"order_id": "ord_123"}));
}

#[tokio::test]
async fn a_fix_changes_what_is_sent_and_one_that_fails_leaves_the_letter_alone() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..4).await;
    let fix = |entry: &bezoar::replay::Entry, mut sent: Fixed| {
        match entry.at.offset {
            1 => return Err("no such order".to_owned()),
            2 => panic!("the fix is broken"),
            _ => {}
        }
        sent.value = Some("fixed".into());
        sent.headers.push(Header::new("fixed-by", "us"));
        sent.headers.push(Header::new("bezoar.replay.id", "forged"));
        Ok(sent)
    };
    let (report, told) = stand.replay(&options(|options| options.fix = Some(Arc::new(fix)))).await;
    assert_eq!((report.success, report.failed), (2, 2));
    let outcomes = outcomes(told);
    assert_eq!(outcomes[1], Outcome::Failed("the fix failed: no such order".to_owned()));
    assert_eq!(outcomes[2], Outcome::Failed("the fix failed: it panicked: the fix is broken".to_owned()));
    for record in stand.replayed(&stand.source, 0).await {
        assert_eq!(record.value.as_deref(), Some(b"fixed".as_slice()));
        assert_eq!(without_lineage(&record.headers), [Header::new("fixed-by", "us")]);
        assert_ne!(header(&record, "bezoar.replay.id").unwrap(), "forged");
    }
    let states: Vec<bool> = stand.all().await.iter().map(|entry| entry.state == State::Unresolved).collect();
    assert_eq!(states, [false, true, true, false]);
}

#[tokio::test]
async fn letters_of_several_topics_go_in_the_order_of_their_source() {
    let stand = Stand::new(1).await;
    let topics = ["validation", "transient", "poison"].map(|category| format!("{}.{category}", stand.dead));
    for topic in &topics {
        stand.create(topic).await;
    }
    let records = (0..60).map(|value: i32| ProducerRecord::to("").value(value.to_string())).collect();
    stand.fixture.produce(&partition(&stand.source, 0), records).await;
    let mut letters: [Vec<ProducerRecord>; 3] = Default::default();
    for (index, record) in stand.records_from(&stand.source, 0, 0).await.iter().enumerate() {
        let letter = crate::stand::letter(record, bezoar::dead_letter::Rung::Full, &Default::default());
        letters[index * 7 / 5 % 3].push(letter);
    }
    for (topic, letters) in topics.iter().zip(letters) {
        stand.fixture.produce(&partition(topic, 0), letters).await;
    }
    let letters = bezoar::replay::DeadLetters::new(stand.ports().await, topics);
    let report = letters.replay(&Selection::Matching(Filter::new()), &options(|_| {}), |_| {}).await.unwrap();
    assert_eq!(report.success, 60);
    let wanted: Vec<String> = (0..60).map(|value| value.to_string()).collect();
    assert_eq!(stand.replayed_values().await, wanted);
}

#[tokio::test]
async fn what_is_named_and_not_there_fails_and_the_rest_goes_on() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..3).await;
    let these = Selection::These(vec![stand.at(0, 7), stand.at(0, 1), stand.at(5, 0)]);
    let (report, told) = stand.replay_these(&these, &options(|_| {})).await;
    assert_eq!((report.success, report.failed), (1, 2));
    let reason = format!("there is no dead letter at {}", stand.at(0, 7));
    assert!(told.iter().any(|it| it.outcome == Outcome::Failed(reason.clone())), "{told:?}");
    assert_eq!(stand.replayed_values().await, ["1"]);
}

#[tokio::test]
async fn records_that_are_no_dead_letters_are_discarded_only_by_their_places() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..1).await;
    stand.fixture.produce(&partition(&stand.dead, 0), vec![ProducerRecord::to("").value("an order")]).await;
    let letters = stand.letters().await;
    let report = letters.discard(&Selection::Matching(Filter::new()), "tidying up").await.unwrap();
    assert_eq!((report.discarded, report.unrecognized), (1, 1));
    let report = letters.discard(&Selection::These(vec![stand.at(0, 1)]), "it is junk").await.unwrap();
    assert_eq!((report.discarded, report.unrecognized), (1, 0));
}

#[tokio::test]
async fn discarded_letters_are_resolved_with_the_reason() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..3).await;
    let letters = stand.letters().await;
    let these = Selection::These(vec![stand.at(0, 0), stand.at(0, 2), stand.at(0, 9)]);
    let report = letters.discard(&these, "known and harmless").await.unwrap();
    assert_eq!((report.discarded, report.skipped, report.missing), (2, 0, 1));
    let report = letters.discard(&these, "once more").await.unwrap();
    assert_eq!((report.discarded, report.skipped), (0, 2));
    let results: Vec<_> = stand.all().await.iter().map(|entry| entry.state.result()).collect();
    let discarded = Some("discarded: known and harmless".to_owned());
    assert_eq!(results, [discarded.clone(), None, discarded]);
    let (report, _) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.skipped), (1, 0));
    let all = Selection::Matching(Filter::new().states(States::All));
    let (report, _) = stand.replay_these(&all, &options(|_| {})).await;
    assert_eq!((report.success, report.skips.resolved), (0, 3));
    let (report, _) = stand.replay_these(&all, &options(|options| options.again = true)).await;
    assert_eq!(report.success, 3);
}
