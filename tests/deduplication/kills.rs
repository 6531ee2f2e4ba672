//! A process that pays and is killed at random points, and started again each time, pays for each order once.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use bezoar::Consumer;
use bezoar::consumer::Assignment;
use bezoar::record::ProducerRecord;

use crate::database::Database;
use crate::key::KeyBy;
use crate::ledgers::{self, Books};
use crate::shop::{self, Noted, Shop, until};

const NAME: &str = "kills::a_process_killed_at_random_points_pays_once";
const PARTITIONS: i32 = 2;
const ORDERS: usize = 600;
const KILLS: usize = 6;

/// What the paying process is told by its environment: where the broker is, topic, group, schema.
const SETTING: &str = "BEZOAR_TEST_DEDUPLICATION";

/// This one test is both sides: it runs itself anew as the process that pays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_killed_at_random_points_pays_once() {
    let Some(url) = ledgers::server() else { return };
    match std::env::var(SETTING) {
        Ok(setting) => pay(&url, &setting).await,
        Err(_) => kill_and_check(&url).await,
    }
}

async fn pay(url: &str, setting: &str) {
    let parts: Vec<&str> = setting.split('|').collect();
    let [bootstrap, topic, group, schema] = parts[..] else { panic!("{setting}") };
    let books = Books::from(Database::at(url, schema).unwrap());
    let consumer = Consumer::builder(group)
        .bootstrap(bootstrap)
        .assignment(Assignment::Manual)
        // Often, but far from each order: so some that were paid for come again after each kill.
        .commit_interval(Duration::from_millis(50))
        .topic(topic, bezoar::Json, shop::payments(&books, KeyBy::Origin, Noted::default().all(), shop::SOON))
        .start()
        .await
        .unwrap();
    // Until it is killed.
    drop(consumer.run_until(std::future::pending::<()>()).await);
}

fn start(setting: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(SETTING, setting)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

async fn kill_and_check(url: &str) {
    let shop = Shop::open(PARTITIONS).await;
    let schema = ledgers::schema();
    let database = Database::at(url, &schema).unwrap();
    database.create().await.unwrap();
    let books = Books::from(database);
    let mut orders: Vec<String> = (0..ORDERS).map(|order| format!("{order:03}")).collect();
    for (partition, half) in (0..).zip(orders.chunks(ORDERS / PARTITIONS as usize)) {
        let records = half.iter().map(|id| ProducerRecord::to(shop.orders.as_str()).value(shop::order(id)));
        shop.send(partition, records.collect()).await;
    }
    let setting = format!("{}|{}|{}|{schema}", shop.bootstrap, shop.orders, shop.group());
    let mut random = StdRng::seed_from_u64(u64::from(std::process::id()));
    let mut again = 0;
    for run in 0..=KILLS {
        let mut process = start(&setting);
        let before = books.paid().await.len();
        let wanted = if run == KILLS { ORDERS } else { ORDERS.min(before + random.random_range(1..120)) };
        until(&format!("process {run} pays for {wanted} orders"), async || books.paid().await.len() >= wanted).await;
        process.kill().unwrap();
        process.wait().unwrap();
        again += books.paid().await.len() - shop.committed(PARTITIONS).await;
    }
    assert!(again > 0, "the next process was always given only what was not paid for yet");
    // What the last one was in the middle of has an end, too.
    let consumer = shop.pay(shop.consumer(), &books, KeyBy::Origin, Noted::default().all()).await;
    shop::soon("all orders are settled", consumer.caught_up()).await;
    consumer.shutdown().await.unwrap();
    orders.sort();
    assert_eq!(books.paid().await, orders);
    books.close().await;
}
