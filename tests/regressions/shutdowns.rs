//! A consumer ends in time, and commits nothing unsettled, whatever its connections wait for.

use std::time::Duration;

use bezoar::consumer::OffsetReset;
use bezoar::embedded::{Api, Fault};
use bezoar::record::Record;
use bezoar::{Delivery, FactoryContext, Failure, Raw, factory_fn, handler_fn};

use crate::support::{Cluster, eventually, soon};

/// What the connections wait for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    LongPoll,
    Reconnect,
    ProducerId,
    Acknowledgement,
    ThrottledFetch,
    ThrottledProduce,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_ends_in_time_whatever_its_connections_wait_for() {
    const LONG: Duration = Duration::from_secs(600);
    let all = [
        State::LongPoll,
        State::Reconnect,
        State::ProducerId,
        State::Acknowledgement,
        State::ThrottledFetch,
        State::ThrottledProduce,
    ];
    for state in all {
        let cluster = Cluster::embedded().await;
        let (topic, group) = (cluster.topic("ending", 2).await, cluster.name("ending"));
        cluster.values(&topic, 0, 0..20).await;
        let fault = |api| Fault::on(api).forever();
        let letters = format!("{topic}.dlq");
        let fault = match state {
            State::LongPoll | State::Reconnect => None,
            State::ProducerId => Some(fault(Api::InitProducerId).delay(LONG)),
            State::Acknowledgement => Some(fault(Api::Produce).topic(letters).delay(LONG)),
            State::ThrottledFetch => Some(fault(Api::Fetch).throttle(LONG)),
            State::ThrottledProduce => Some(fault(Api::Produce).throttle(LONG)),
        };
        let injected = fault.map(|fault| cluster.broker().inject(fault));
        let factory = factory_fn(|_: FactoryContext| async {
            Ok(handler_fn(|_: Record, delivery: Delivery| async move {
                if delivery.offset() < 5 { Ok(()) } else { Err(Failure::validation("no")) }
            }))
        });
        let consumer = cluster
            .consumer(&group)
            .offset_reset(OffsetReset::Earliest)
            .fetch_max_wait(Duration::from_secs(20))
            .drain_timeout(Duration::from_millis(300))
            .topic(&topic, Raw, factory)
            .start()
            .await
            .unwrap();
        match (&state, &injected) {
            (State::LongPoll, _) => cluster.until_committed(&group, &topic, 0, 20).await,
            (State::Reconnect, _) => cluster.broker().go_down().await,
            (_, Some(injected)) => soon("the fault is met", injected.wait_fired(1)).await,
            _ => {}
        }
        let ended = tokio::time::timeout(Duration::from_secs(30), consumer.shutdown()).await;
        assert!(ended.is_ok(), "hangs in {state:?}");
        if state == State::Reconnect {
            cluster.broker().come_back().await.unwrap();
        }
        eventually("the broker answers", async || {
            let broker = cluster.broker();
            let there = broker.records(&format!("{topic}.dlq"), 0).unwrap_or_default().len();
            broker.committed(&group, &topic, 0).is_none_or(|offset| offset <= 5 + there as i64)
        })
        .await;
    }
}
