//! What is delivered again, by the same consumer, by the next, and by two at once, is paid for once.

use std::time::Duration;

use bezoar::Consumer;

use crate::error::ReceiptError;
use crate::key::KeyBy;
use crate::ledgers::Books;
use crate::payments::Paid::{Before, Now};
use crate::shop::{Noted, Shop, soon, until};

async fn settle(consumer: &Consumer) {
    soon("all orders are settled", consumer.caught_up()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_fails_after_its_commit_pays_once() {
    for books in Books::of_each_kind().await {
        for (key_by, name) in [(KeyBy::Origin, "a"), (KeyBy::Order, "b")] {
            let (shop, noted) = (Shop::open(1).await, Noted::default());
            let orders = [format!("{name}1"), format!("{name}2"), format!("{name}3")];
            shop.order(&orders.each_ref().map(String::as_str)).await;
            let fails_twice = orders[1].clone();
            let receipts = noted.unless(move |order, delivery, _| {
                (order.id == fails_twice && delivery.attempt() <= 2).then_some(ReceiptError::Busy)
            });
            let consumer = shop.pay(shop.consumer(), &books, key_by, receipts).await;
            settle(&consumer).await;
            consumer.shutdown().await.unwrap();
            assert_eq!(noted.of(&orders[0]), [Now]);
            assert_eq!(noted.of(&orders[1]), [Now, Before, Before]);
            assert_eq!(noted.of(&orders[2]), [Now]);
        }
        assert_eq!(books.paid().await, ["a1", "a2", "a3", "b1", "b2", "b3"]);
        books.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_panics_after_its_commit_pays_once_and_its_successor_goes_on() {
    for books in Books::of_each_kind().await {
        let (shop, noted) = (Shop::open(1).await, Noted::default());
        shop.order(&["1", "2", "3"]).await;
        let receipts = noted.unless(|order, _, _| {
            assert_ne!(order.id, "2", "a bug in the receipts");
            None
        });
        let consumer = shop.pay(shop.consumer(), &books, KeyBy::Origin, receipts).await;
        settle(&consumer).await;
        consumer.shutdown().await.unwrap();
        assert_eq!(books.paid().await, ["1", "2", "3"]);
        assert_eq!(shop.read(&shop.dead_letters()).await.len(), 1);
        books.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_ends_between_payment_and_commit_of_offsets_pays_once() {
    for books in Books::of_each_kind().await {
        for key_by in [KeyBy::Origin, KeyBy::Order] {
            let (shop, noted) = (Shop::open(1).await, Noted::default());
            let orders = [format!("{key_by:?}1"), format!("{key_by:?}2"), format!("{key_by:?}3")];
            shop.order(&orders.each_ref().map(String::as_str)).await;
            let never = Duration::from_secs(3600);
            let consumer = shop.pay(shop.consumer().commit_interval(never), &books, key_by, noted.all()).await;
            settle(&consumer).await;
            drop(consumer);
            assert_eq!(shop.committed(1).await, 0, "nothing of what was paid is committed");

            let consumer = shop.pay(shop.consumer(), &books, key_by, noted.all()).await;
            settle(&consumer).await;
            consumer.shutdown().await.unwrap();
            assert_eq!(shop.committed(1).await, 3);
            for order in &orders {
                assert_eq!(noted.of(order), [Now, Before], "{order} was delivered twice");
            }
        }
        let expected = ["Order1", "Order2", "Order3", "Origin1", "Origin2", "Origin3"];
        assert_eq!(books.paid().await, expected);
        books.close().await;
    }
}

/// As where the old owner of a partition goes on for a moment beside the new one: nothing but the key decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_owners_at_once_pay_once() {
    for books in Books::of_each_kind().await {
        let (shop, noted) = (Shop::open(1).await, Noted::default());
        let orders: Vec<String> = (100..300).map(|order| order.to_string()).collect();
        shop.order(&orders.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let one = shop.pay(shop.consumer(), &books, KeyBy::Origin, noted.all()).await;
        // Of another group, so that it handles all of them too, whatever the first has committed.
        let builder = Consumer::builder(format!("{}-two", shop.group()))
            .bootstrap(&shop.bootstrap)
            .assignment(bezoar::consumer::Assignment::Manual);
        let two = shop.pay(builder, &books, KeyBy::Origin, noted.all()).await;
        settle(&one).await;
        settle(&two).await;
        one.shutdown().await.unwrap();
        two.shutdown().await.unwrap();
        for order in &orders {
            let mut found = noted.of(order);
            found.sort_by_key(|paid| *paid == Before);
            assert_eq!(found, [Now, Before], "{order}");
        }
        assert_eq!(books.paid().await, orders);
        books.close().await;
    }
}

/// A key that comes again with something else must not be taken for done: somebody has to look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_id_that_is_used_for_another_order_is_dead_lettered() {
    for books in Books::of_each_kind().await {
        let (shop, noted) = (Shop::open(1).await, Noted::default());
        shop.order(&["1"]).await;
        let other = r#"{"id": "1", "cents": 99}"#;
        shop.send(0, vec![bezoar::record::ProducerRecord::to(shop.orders.as_str()).value(other)]).await;
        let consumer = shop.pay(shop.consumer(), &books, KeyBy::Order, noted.all()).await;
        settle(&consumer).await;
        until("both are committed", async || shop.committed(1).await == 2).await;
        consumer.shutdown().await.unwrap();
        assert_eq!(books.paid().await, ["1"]);
        let letters = shop.read(&shop.dead_letters()).await;
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].value(), Some(other.as_bytes()));
        assert_eq!(letters[0].headers().text("bezoar.category"), Some("validation"));
        let message = letters[0].headers().text("__dlq.errors.message").unwrap();
        assert!(
            message.contains(r#"order 1 was paid as "1 for 100 cents" and came again as "1 for 99 cents""#),
            "{message}"
        );
        books.close().await;
    }
}
