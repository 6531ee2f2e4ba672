//! Time, over in-memory pipes in tokio's paused clock: seconds pass in no time, and none passes unasked.

use std::time::Duration;

use bezoar::embedded::{Api, BatchWriter, Broker, Fault};
use bytes::Bytes;
use kafka_protocol::messages::ListGroupsRequest;
use tokio::time::Instant;

use crate::client::{Client, fetch};

fn batch() -> Bytes {
    BatchWriter::new().record(Some(b"k"), Some(&[b'v'; 100]), vec![]).build()
}

async fn orders() -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    broker
}

#[tokio::test(start_paused = true)]
async fn a_fetch_without_data_waits_as_long_as_it_may_and_no_longer() {
    let broker = orders().await;
    let mut client = Client::pipe(&broker);
    let start = Instant::now();
    let answer = client.fetch(&fetch("orders", &[(0, 0)]).with_max_wait_ms(30_000)).await;
    assert_eq!(answer.responses[0].partitions[0].records, Some(Bytes::new()));
    let waited = start.elapsed();
    assert!((30_000..31_000).contains(&waited.as_millis()), "{waited:?}");
    assert_eq!(broker.requests(Api::Fetch), 1);
}

#[tokio::test(start_paused = true)]
async fn a_fetch_is_answered_when_there_is_enough() {
    let broker = orders().await;
    let mut client = Client::pipe(&broker);
    let wanted = batch().len() as i32 + 1;
    let start = Instant::now();
    let asked = fetch("orders", &[(0, 0), (1, 0)]).with_max_wait_ms(60_000).with_min_bytes(wanted);
    let reading = tokio::spawn(async move { client.fetch(&asked).await });
    for partition in [0, 1] {
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert!(!reading.is_finished());
        broker.append_raw("orders", partition, batch()).unwrap();
    }
    let answer = reading.await.unwrap();
    let waited = start.elapsed();
    assert!((20_000..21_000).contains(&waited.as_millis()), "{waited:?}");
    assert!(answer.responses[0].partitions.iter().all(|data| data.records.as_ref().unwrap().len() == batch().len()));
}

#[tokio::test(start_paused = true)]
async fn a_fetch_that_waits_hears_of_what_makes_waiting_pointless() {
    for deleted in [false, true] {
        let broker = orders().await;
        let mut client = Client::pipe(&broker);
        let start = Instant::now();
        let asked = fetch("orders", &[(0, 0)]).with_max_wait_ms(60_000);
        let reading = tokio::spawn(async move { client.fetch(&asked).await });
        tokio::time::sleep(Duration::from_secs(5)).await;
        if deleted {
            broker.delete_topic("orders").unwrap();
        } else {
            broker.leave_gap("orders", 0, 3).unwrap();
            broker.delete_records_before("orders", 0, 3).unwrap();
        }
        let answer = reading.await.unwrap();
        assert_eq!(answer.responses[0].partitions[0].error_code, if deleted { 3 } else { 1 });
        assert!(start.elapsed() < Duration::from_secs(6));
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_fetches_hold_up_nobody_else() {
    let broker = orders().await;
    let mut waiting = Client::pipe(&broker);
    waiting.send(12, &fetch("orders", &[(0, 0)]).with_max_wait_ms(60_000)).await;
    let start = Instant::now();
    let answer = Client::pipe(&broker).produce("orders", 1, batch()).await;
    assert_eq!(answer.error_code, 0);
    assert_eq!(start.elapsed(), Duration::ZERO);
    // A client that goes away while it waits is let go.
    drop(waiting);
    Client::pipe(&broker).call(4, &ListGroupsRequest::default()).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_request_takes_effect_late() {
    let broker = orders().await;
    let fault = broker.inject(Fault::on(Api::Produce).delay(Duration::from_secs(7)));
    let mut client = Client::pipe(&broker);
    let start = Instant::now();
    let producing = tokio::spawn(async move { client.produce("orders", 0, batch()).await });
    fault.wait_fired(1).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(broker.end_offset("orders", 0), Some(0));
    assert_eq!(producing.await.unwrap().error_code, 0);
    let waited = start.elapsed();
    assert!((7_000..8_000).contains(&waited.as_millis()), "{waited:?}");
    assert_eq!(broker.end_offset("orders", 0), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_delay_without_end_holds_one_request_and_not_the_broker() {
    let broker = orders().await;
    let fault = broker.inject(Fault::on(Api::Produce).delay(Duration::MAX));
    let mut held = Client::pipe(&broker);
    let correlation = held.send(9, &crate::client::produce(-1, "orders", 0, batch())).await;
    fault.wait_fired(1).await;
    assert_eq!(Client::pipe(&broker).produce("orders", 0, batch()).await.base_offset, 0);
    let held = held.receive::<kafka_protocol::messages::ProduceRequest>(9, correlation);
    assert!(tokio::time::timeout(Duration::from_secs(3_600), held).await.is_err());
}
