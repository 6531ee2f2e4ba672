//! Waits as the policies state them, on one runtime whose clock stands still until everybody waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::consumer::{Isolation, RestartPolicy};
use bezoar::handler::HandlerFn;
use bezoar::policy::{Category, Policies};
use bezoar::record::{RecordBatchBuilder, TopicPartition};
use bezoar::replay::DeadLetter;
use bezoar::{Consumer, Delivery, FactoryError, Failure, Utf8, factory_fn, handler_fn};
use tokio::time::Instant;

use crate::memory::Memory;

type Done = std::future::Ready<Result<(), Failure>>;

/// Seconds from the first attempt to each, and the dead letters at the end, for a handler that always fails.
async fn attempts(failure: fn() -> Failure, poison_timeout: Option<Duration>) -> (Vec<u64>, Vec<DeadLetter>) {
    let orders = TopicPartition::new("orders", 0);
    let memory = Arc::new(Memory::default());
    let mut batch = RecordBatchBuilder::new(orders.clone(), None);
    batch.push(0, 0, None, Some(b"x"), std::iter::empty());
    *memory.batch.lock().unwrap() = Some(batch.build(1));
    let started: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let handler = {
        let started = Arc::clone(&started);
        handler_fn(move |_: String, _: Delivery| {
            started.lock().unwrap().push(Instant::now());
            async move { Err::<(), _>(failure()) }
        })
    };
    let exact = Policies::default().with_each(|_, policy| {
        let backoff = policy.backoff.jitter(false);
        policy.backoff(backoff)
    });
    let consumer = Consumer::builder("paused")
        .ports(memory.ports())
        .assignment(bezoar::consumer::Assignment::Manual)
        .isolation(Isolation::Inline)
        .poison_timeout(poison_timeout)
        .policies(exact)
        .topic("orders", Utf8, handler)
        .start()
        .await
        .unwrap();
    while memory.committed(&orders) != Some(1) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    consumer.shutdown().await.unwrap();
    let started = started.lock().unwrap();
    let seconds = started.iter().map(|at| (*at - started[0]).as_secs()).collect();
    let produced = memory.produced.lock().unwrap();
    let read = |record: &bezoar::record::ProducerRecord| {
        DeadLetter::read(record.key.clone(), record.value.clone(), record.headers.clone())
    };
    (seconds, produced.iter().map(read).collect())
}

#[tokio::test(start_paused = true)]
async fn transient_failures_wait_1_2_4_8_16_seconds_and_are_then_dead_lettered() {
    let (seconds, letters) = attempts(|| Failure::transient("try later"), None).await;
    assert_eq!(seconds, [0, 1, 3, 7, 15, 31]);
    assert_eq!((letters.len(), letters[0].attempts), (1, Some(6)));
    assert_eq!(letters[0].category, Category::Transient);
}

#[tokio::test(start_paused = true)]
async fn dependency_failures_wait_one_second_more_each_time() {
    let (seconds, letters) = attempts(|| Failure::dependency("inventory"), None).await;
    assert_eq!(seconds, [0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55]);
    assert_eq!((letters.len(), letters[0].attempts), (1, Some(11)));
}

/// It held its partition without a word.
#[tokio::test(start_paused = true)]
async fn a_factory_that_waits_for_ever_is_tried_again_and_then_stops_the_consumer() {
    let memory = Arc::new(Memory::default());
    let mut restart = RestartPolicy::default();
    (restart.max_per_partition, restart.window) = (2, Duration::from_secs(3600));
    let never =
        factory_fn(|_| std::future::pending::<Result<HandlerFn<fn(String, Delivery) -> Done, String>, FactoryError>>());
    let consumer = Consumer::builder("never")
        .ports(memory.ports())
        .assignment(bezoar::consumer::Assignment::Manual)
        .isolation(Isolation::Inline)
        .restart(restart)
        .topic("orders", Utf8, never)
        .start()
        .await
        .unwrap();
    let error = consumer.run_until(std::future::pending::<()>()).await.unwrap_err();
    assert!(error.to_string().contains("the handler factory made no handler within 1m"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_handler_asks_for_counts_as_a_retry() {
    let failure = || Failure::unknown("busy").retry_after(Duration::from_secs(600));
    let (seconds, letters) = attempts(failure, Some(Duration::from_secs(30))).await;
    assert_eq!(seconds, [0, 600, 1200, 1800]);
    assert_eq!((letters.len(), letters[0].attempts), (1, Some(4)));
}
