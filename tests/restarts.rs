//! How long restarts go on: neither for ever where nothing gets better, nor too briefly where all partitions wait for the
//! same thing at the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bezoar::broker::ConnectionSettings;
use bezoar::consumer::RestartPolicy;
use bezoar::embedded::Broker;
use bezoar::handler::HandlerGone;
use bezoar::policy::Backoff;
use bezoar::producer::Producer;
use bezoar::record::ProducerRecord;
use bezoar::{Consumer, Delivery, FactoryContext, Failure, Handler, Utf8, factory_fn, handler_fn};

const PARTITIONS: i32 = 8;
const BOUND: Duration = Duration::from_secs(60);

/// A broker with one record in each partition of `orders`.
async fn broker() -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", PARTITIONS).unwrap();
    let producer = Producer::connect(ConnectionSettings::new([broker.bootstrap()])).await.unwrap();
    for partition in 0..PARTITIONS {
        producer.send(ProducerRecord::to("orders").partition(partition).value("x")).await.unwrap();
    }
    broker
}

/// Counts what it handles.
struct Counting(Arc<AtomicUsize>);

impl Handler for Counting {
    type Message = String;
    type Error = Failure;

    async fn handle(&mut self, _: String, _: Delivery) -> Result<(), Failure> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn policy() -> RestartPolicy {
    RestartPolicy::default().backoff(Backoff::fixed(Duration::from_millis(1)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_gives_up_more_slowly_than_the_window_is_given_up_all_the_same() {
    let broker = broker().await;
    let attempts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&attempts);
    let slow = handler_fn(move |_: String, delivery: Delivery| {
        let count = Arc::clone(&count);
        async move {
            if delivery.partition() > 0 {
                return Ok(());
            }
            count.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(60)).await;
            Err(Failure::new(HandlerGone { reason: "its pool is closed".to_owned() }))
        }
    });
    let builder = Consumer::builder("slow-restarts").bootstrap(&broker.bootstrap());
    let builder = builder.restart(policy().max_per_partition(3).window(Duration::from_millis(20)));
    let consumer = builder.topic("orders", Utf8, slow).start().await.unwrap();
    let ended = tokio::time::timeout(BOUND, consumer.run_until(std::future::pending::<()>())).await;
    let error = ended.expect("it stops by itself").unwrap_err().to_string();
    assert!(error.contains("orders/0") && error.contains("3 restarts without progress"), "{error}");
    assert!(error.contains("its pool is closed"), "{error}");
    assert_eq!(attempts.load(Ordering::Relaxed), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_partitions_may_fail_once_at_the_start() {
    let broker = broker().await;
    let handled = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&handled);
    let factory = factory_fn(move |context: FactoryContext| {
        let count = Arc::clone(&count);
        async move {
            if context.incarnation() == 1 {
                return Err("the pool is not up yet".into());
            }
            Ok(Counting(count))
        }
    });
    let builder = Consumer::builder("first-restarts").bootstrap(&broker.bootstrap());
    let builder = builder.restart(policy().max_overall(1));
    let consumer = builder.topic("orders", Utf8, factory).start().await.unwrap();
    tokio::time::timeout(BOUND, consumer.caught_up()).await.expect("all is handled");
    consumer.shutdown().await.unwrap();
    assert_eq!(handled.load(Ordering::Relaxed), PARTITIONS as usize);
}
