//! Brokers that say no, say nothing, or say what makes no sense.

use std::time::Duration;

use bezoar::broker::{BrokerError, ErrorCode, SourceProblem};
use bezoar::embedded::{Api, Fault};

use crate::reader::{Reading, append, broker, eventually, numbers, orders};
use crate::spy::Spy;

#[tokio::test]
async fn errors_that_pass_are_reported_once_and_disturb_no_other_partition() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..3));
    append(&broker, &orders(1), numbers(0..3));
    // Leaders that move and topics that are not known yet; a log that the broker can't read; anything else.
    for code in [2, 3, 5, 6, 56, 74, 75, 78, 100, 103, -1] {
        let fault = broker.inject(Fault::on(Api::Fetch).topic("orders").partition(0).times(2).error(ErrorCode(code)));
        let (failing, other) =
            (Reading::begin(&source, &broker, &orders(0), 0), Reading::begin(&source, &broker, &orders(1), 0));
        assert_eq!(failing.values(3, 0).await, numbers(0..3), "{code}");
        assert_eq!(failing.one_streak().await.code(), Some(ErrorCode(code)));
        assert_eq!(fault.fired(), 2);
        assert_eq!(other.values(3, 0).await, numbers(0..3));
        assert_eq!(other.problems(), [], "{code}");
        source.remove(&orders(0));
        source.remove(&orders(1));
    }
}

#[tokio::test]
async fn a_missing_right_is_waited_for() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..3));
    let fault = broker.inject(Fault::on(Api::Fetch).topic("orders").forever().error(ErrorCode(29)));
    let reading = Reading::begin(&source, &broker, &orders(0), 0);
    let problems = reading.until(|problems| !problems.is_empty()).await;
    assert!(matches!(&problems[..], [SourceProblem::Retrying(error)] if error.code() == Some(ErrorCode(29))));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(fault.fired(), 1, "an operator takes a while");
    fault.remove();
    assert_eq!(reading.values(3, 0).await, numbers(0..3));
    reading.one_streak().await;
}

#[tokio::test]
async fn a_broker_that_goes_down_is_waited_for_without_haste() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..3));
    let readings: Vec<_> = (0..4).map(|number| Reading::begin(&source, &broker, &orders(number), 0)).collect();
    assert_eq!(readings[0].values(3, 0).await, numbers(0..3));
    let fault = broker.inject(Fault::on(Api::Fetch).forever().drop_before_effect());
    broker.close_connections();
    for reading in &readings {
        reading.until(|problems| !problems.is_empty()).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(fault.fired() <= 8, "{} attempts in a second", fault.fired());
    fault.remove();
    append(&broker, &orders(0), numbers(3..5));
    assert_eq!(readings[0].values(2, 3).await, numbers(3..5));
    for reading in &readings {
        assert!(matches!(reading.one_streak().await, BrokerError::Connection { .. }));
    }
}

#[tokio::test]
async fn a_malformed_answer_costs_the_connection_and_nothing_else() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..3));
    let mut left = 3;
    // Of an announced billion of topics, of topics at all, and of half of what comes after the header.
    spy.tamper(move |frame| {
        left -= 1;
        match left {
            2 => frame[15..20].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0x03]),
            1 => frame.truncate(frame.len() / 2),
            0 => frame.truncate(10),
            _ => {}
        }
    });
    let reading = Reading::begin(&source, &broker, &orders(0), 0);
    assert_eq!(reading.values(3, 0).await, numbers(0..3));
    assert!(matches!(reading.one_streak().await, BrokerError::Malformed { .. }));
    assert!(spy.fetches().len() < 20);
}

#[tokio::test]
async fn metadata_that_does_not_come_is_reported_and_waited_for() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|settings| settings.request_timeout = Duration::from_millis(300)).await;
    append(&broker, &orders(0), numbers(0..3));
    let fault = broker.inject(Fault::on(Api::Metadata).forever().drop_before_effect());
    let reading = Reading::begin(&source, &broker, &orders(0), 0);
    reading.until(|problems| !problems.is_empty()).await;
    eventually("it was asked again", || fault.fired() >= 2).await;
    assert!(reading.feed.front().is_none());
    fault.remove();
    assert_eq!(reading.values(3, 0).await, numbers(0..3));
    reading.one_streak().await;
}

#[tokio::test]
async fn a_feed_closed_while_its_topic_is_missing_is_let_go() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    let missing = bezoar::record::TopicPartition::new("missing", 0);
    let reading = Reading::begin(&source, &broker, &missing, 0);
    reading.until(|problems| !problems.is_empty()).await;
    reading.feed.close();
    eventually("nobody holds the feed", || std::sync::Arc::strong_count(&reading.feed) == 1).await;
}
