//! A dead letter whose payment was committed is replayed: it is paid for once. And whoever claims to be a replay without being one is
//! not believed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bezoar::Consumer;
use bezoar::record::{Header, ProducerRecord};
use bezoar::replay::{DeadLetters, Filter, Fix, Fixed, ReplayOptions, Selection, States};
use bytes::Bytes;
use uuid::Uuid;

use crate::error::ReceiptError;
use crate::key::KeyBy;
use crate::ledgers::Books;
use crate::payments::Paid::{Before, Now};
use crate::shop::{Noted, Shop, order, soon};

const OF: &str = "bezoar.replay.of";
const ID: &str = "bezoar.replay.id";

/// Three orders were paid for; the second then failed for good, so that it lies in the dead-letter topic.
struct Day {
    shop: Shop,
    noted: Noted,
    consumer: Consumer,
    /// Whether receipts can be sent now.
    mended: Arc<AtomicBool>,
}

impl Day {
    async fn begin(books: &Books, key_by: KeyBy) -> Self {
        let (shop, noted, mended) = (Shop::open(2).await, Noted::default(), Arc::new(AtomicBool::new(false)));
        shop.order(&["1", "2", "3"]).await;
        let can = Arc::clone(&mended);
        let receipts = noted.unless(move |order, _, _| {
            (order.id == "2" && !can.load(Ordering::Acquire)).then_some(ReceiptError::NoAddress)
        });
        let consumer = shop.pay(shop.consumer(), books, key_by, receipts).await;
        let day = Self { shop, noted, consumer, mended };
        day.settle().await;
        assert_eq!(day.shop.read(&day.shop.dead_letters()).await.len(), 1);
        assert_eq!(books.paid().await, ["1", "2", "3"], "the dead-lettered one is paid for");
        day
    }

    async fn settle(&self) {
        soon("all orders are settled", self.consumer.caught_up()).await;
    }

    /// Replays all dead letters, and waits until the consumer is through with them.
    async fn replay(&self, options: ReplayOptions) {
        self.mended.store(true, Ordering::Release);
        let letters = DeadLetters::new(self.shop.connect().await, [self.shop.dead_letters()]);
        let mut filter = Filter::default();
        filter.states = States::All;
        let all = Selection::Matching(filter);
        let replayed = soon("a replay", letters.replay(&all, &options, |_| {})).await.unwrap();
        assert_eq!((replayed.success, replayed.failed, replayed.skipped), (1, 0, 0));
        self.settle().await;
    }

    /// The headers of the record that was replayed.
    async fn replayed_headers(&self) -> Vec<Header> {
        let records = self.shop.read(&self.shop.orders).await;
        records[3].headers().to_vec()
    }

    async fn send(&self, partition: i32, id: &str, headers: Vec<Header>) {
        let mut record = ProducerRecord::to(self.shop.orders.as_str()).value(order(id));
        record.headers = headers;
        self.shop.send(partition, vec![record]).await;
        self.settle().await;
    }

    async fn end(self, books: Books) {
        self.consumer.shutdown().await.unwrap();
        books.close().await;
    }
}

/// The same headers, one of them with another value.
fn with(headers: &[Header], name: &str, value: String) -> Vec<Header> {
    let mut headers = headers.to_vec();
    let header = headers.iter_mut().find(|header| header.name == name.as_bytes());
    header.unwrap_or_else(|| panic!("a replayed record has the header {name}")).value = Some(Bytes::from(value));
    headers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replayed_order_that_was_paid_for_is_not_paid_for_again() {
    for key_by in [KeyBy::Origin, KeyBy::Order] {
        for books in Books::of_each_kind().await {
            let day = Day::begin(&books, key_by).await;
            day.replay(ReplayOptions::default()).await;
            assert_eq!(day.noted.of("2"), [Now, Before], "what was left to do after the payment is done");
            assert_eq!(books.paid().await, ["1", "2", "3"]);

            // Replayed once more, which takes being told to: it stems from the same record.
            let mut options = ReplayOptions::default();
            options.again = true;
            day.replay(options).await;
            assert_eq!(day.noted.of("2"), [Now, Before, Before]);
            assert_eq!(books.paid().await, ["1", "2", "3"]);
            day.end(books).await;
        }
    }
}

/// What was paid for before the fix stays: that it differs now is for people to settle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_was_changed_after_its_payment_is_dead_lettered_again() {
    for key_by in [KeyBy::Origin, KeyBy::Order] {
        for books in Books::of_each_kind().await {
            let day = Day::begin(&books, key_by).await;
            let fix: Fix = Arc::new(|_, record| {
                Ok(Fixed { value: Some(Bytes::from_static(br#"{"id": "2", "cents": 1}"#)), ..record })
            });
            let mut options = ReplayOptions::default();
            options.fix = Some(fix);
            day.replay(options).await;
            assert_eq!(books.paid().await, ["1", "2", "3"]);
            let letters = day.shop.read(&day.shop.dead_letters()).await;
            assert_eq!(letters.len(), 2);
            let message = letters[1].headers().text("__dlq.errors.message").unwrap();
            assert!(
                message.contains(r#"was paid as "2 for 100 cents" and came again as "2 for 1 cents""#),
                "{message}"
            );
            day.end(books).await;
        }
    }
}

/// Headers can be written by anybody who may produce to the topic. Without the mark that a real replay leaves they mean nothing:
/// the record counts as the new one that it is. So keyed by records it is paid for, and keyed by orders it is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_replays_are_new_records_that_only_the_order_id_tells_from_new_orders() {
    for key_by in [KeyBy::Origin, KeyBy::Order] {
        for books in Books::of_each_kind().await {
            let day = Day::begin(&books, key_by).await;
            day.replay(ReplayOptions::default()).await;
            let real = day.replayed_headers().await;
            let no_mark = with(&real, OF, format!("{}/0/7", day.shop.dead_letters()));
            let no_mark = with(&no_mark, ID, Uuid::new_v4().to_string());
            let other_id = with(&real, ID, Uuid::new_v4().to_string());
            let other_topic = with(&real, OF, "somebody-elses.dlq/0/0".to_owned());
            // The real one is at another place: in another partition, and at another offset.
            let forgeries = [(0, no_mark), (0, other_id), (0, other_topic), (1, real.clone()), (0, real)];
            let mut expected = vec!["1", "2", "3"];
            for (partition, headers) in forgeries {
                day.send(partition, "2", headers).await;
                if key_by == KeyBy::Origin {
                    expected.insert(1, "2");
                }
                assert_eq!(books.paid().await, expected, "{key_by:?}");
            }
            day.end(books).await;
        }
    }
}

/// The other way round, belief would let anybody have an order passed over, as if it had been paid for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_order_that_claims_to_be_a_replay_is_paid_for() {
    for key_by in [KeyBy::Origin, KeyBy::Order] {
        for books in Books::of_each_kind().await {
            let day = Day::begin(&books, key_by).await;
            day.replay(ReplayOptions::default()).await;
            let forged = with(&day.replayed_headers().await, ID, Uuid::new_v4().to_string());
            day.send(0, "4", forged).await;
            assert_eq!(day.noted.of("4"), [Now]);
            assert_eq!(books.paid().await, ["1", "2", "3", "4"]);
            day.end(books).await;
        }
    }
}
