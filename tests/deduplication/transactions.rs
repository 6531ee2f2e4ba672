//! What the recipe relies on in PostgreSQL, and what its errors are taken for.

use bezoar::IntoFailure;
use bezoar::policy::Category;
use tokio::runtime::Handle;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::database::{Database, pay_once};
use crate::error::{PayError, category};
use crate::key::KeyBy;
use crate::ledgers::{self, Books};
use crate::payments::Order;
use crate::payments::Paid::{Before, Now};
use crate::shop::{Noted, Shop, soon, until};

const KEY: &str = "order 1";

fn order(cents: i64) -> Order {
    Order { id: "1".to_owned(), cents }
}

async fn client(database: &Database) -> Client {
    database.connect(&Handle::current()).await.unwrap()
}

/// A transaction of another owner that has paid for the order and is not over.
async fn begin_to_pay(client: &mut Client) -> tokio_postgres::Transaction<'_> {
    let transaction = client.transaction().await.unwrap();
    let key = "INSERT INTO handled (effect, key, content) VALUES ('payment', $1, '1 for 100 cents')";
    transaction.execute(key, &[&KEY]).await.unwrap();
    transaction.execute("INSERT INTO payments (order_id, cents) VALUES ('1', 100)", &[]).await.unwrap();
    transaction
}

/// Waits until a connection of this test waits for another's transaction.
async fn until_blocked(database: &Database) {
    let client = client(database).await;
    let blocked = "SELECT 1 FROM pg_stat_activity \
                   WHERE wait_event_type = 'Lock' AND application_name = current_setting('application_name')";
    until("a transaction waits for another", async || client.execute(blocked, &[]).await.unwrap() == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_owner_waits_for_the_first_and_pays_only_if_that_does_not() {
    for commits in [true, false] {
        let Some(database) = ledgers::postgres().await else { return };
        let mut first = client(&database).await;
        let first = begin_to_pay(&mut first).await;
        let mut second = client(&database).await;
        let second = tokio::spawn(async move { pay_once(&mut second, KEY.to_owned(), &order(100)).await });
        until_blocked(&database).await;
        assert!(!second.is_finished());
        if commits {
            first.commit().await.unwrap()
        } else {
            first.rollback().await.unwrap()
        }
        let paid = soon("the second owner goes on", second).await.unwrap().unwrap();
        assert_eq!(paid, if commits { Before } else { Now });
        assert_eq!(database.payments().await.unwrap(), [("1".to_owned(), 100)]);
        database.remove().await.unwrap();
    }
}

/// At these levels a transaction does not see what was committed since it began: it fails and has to be made anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn higher_levels_of_isolation_cost_an_attempt() {
    for level in ["repeatable read", "serializable"] {
        let Some(database) = ledgers::postgres().await else { return };
        let mut first = client(&database).await;
        let first = begin_to_pay(&mut first).await;
        let mut second = client(&database).await;
        second.batch_execute(&format!("SET default_transaction_isolation = '{level}'")).await.unwrap();
        let second = tokio::spawn(async move {
            let paid = pay_once(&mut second, KEY.to_owned(), &order(100)).await;
            (paid, pay_once(&mut second, KEY.to_owned(), &order(100)).await)
        });
        until_blocked(&database).await;
        first.commit().await.unwrap();
        let (failed, paid) = soon("the second owner goes on", second).await.unwrap();
        assert!(matches!(failed, Err(PayError::Collision(_))), "{level}: {failed:?}");
        assert_eq!(paid.unwrap(), Before, "{level}");
        database.remove().await.unwrap();
    }
}

/// A transaction that hangs holds the key for as long as `lock_timeout`, not for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_hangs_is_not_waited_for_long() {
    let Some(database) = ledgers::postgres().await else { return };
    let mut first = client(&database).await;
    let first = begin_to_pay(&mut first).await;
    let mut second = client(&database).await;
    let failed = soon("no lock", pay_once(&mut second, KEY.to_owned(), &order(100))).await.unwrap_err();
    assert!(matches!(failed, PayError::Collision(_)), "{failed:?}");
    assert_eq!(failed.into_failure().stated_category(), Some(Category::Transient));
    drop(first);
    assert_eq!(pay_once(&mut second, KEY.to_owned(), &order(100)).await.unwrap(), Now);
    database.remove().await.unwrap();
}

/// As a handler's future is dropped when its partition is lost: nothing of it stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_dropped_in_the_middle_is_rolled_back() {
    let Some(database) = ledgers::postgres().await else { return };
    let mut first = client(&database).await;
    let first = begin_to_pay(&mut first).await;
    let mut second = client(&database).await;
    let dropped = tokio::spawn(async move { pay_once(&mut second, KEY.to_owned(), &order(100)).await });
    until_blocked(&database).await;
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    first.rollback().await.unwrap();
    let mut third = client(&database).await;
    assert_eq!(pay_once(&mut third, KEY.to_owned(), &order(100)).await.unwrap(), Now);
    assert_eq!(database.payments().await.unwrap().len(), 1);
    database.remove().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_the_database_refuses_is_dead_lettered_at_once_and_leaves_no_key() {
    let Some(database) = ledgers::postgres().await else { return };
    let (shop, noted) = (Shop::open(1).await, Noted::default());
    let free = bezoar::record::ProducerRecord::to(shop.orders.as_str()).value(r#"{"id": "1", "cents": 0}"#);
    shop.send(0, vec![free]).await;
    let consumer = shop.pay(shop.consumer(), &Books::from(database.clone()), KeyBy::Order, noted.all()).await;
    soon("the order is settled", consumer.caught_up()).await;
    consumer.shutdown().await.unwrap();
    let letters = shop.read(&shop.dead_letters()).await;
    let headers = letters[0].headers();
    assert_eq!(headers.text("bezoar.category"), Some("validation"));
    assert_eq!(headers.text("__dlq.errors.delivery.count"), Some("1"));
    let message = headers.text("__dlq.errors.message").unwrap();
    assert!(message.starts_with("the order is refused: ") && message.contains("payments_cents_check"), "{message}");
    // Key and payment come together or not at all: with another amount it can be paid for.
    let mut client = client(&database).await;
    assert_eq!(pay_once(&mut client, KEY.to_owned(), &order(1)).await.unwrap(), Now);
    database.remove().await.unwrap();
}

#[test]
fn codes_of_errors_have_categories() {
    for (code, expected) in [
        (SqlState::CONNECTION_FAILURE, Some(Category::Dependency)),
        (SqlState::ADMIN_SHUTDOWN, Some(Category::Dependency)),
        (SqlState::CANNOT_CONNECT_NOW, Some(Category::Dependency)),
        (SqlState::TOO_MANY_CONNECTIONS, Some(Category::Dependency)),
        (SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, Some(Category::Dependency)),
        (SqlState::T_R_SERIALIZATION_FAILURE, Some(Category::Transient)),
        (SqlState::T_R_DEADLOCK_DETECTED, Some(Category::Transient)),
        (SqlState::LOCK_NOT_AVAILABLE, Some(Category::Transient)),
        (SqlState::QUERY_CANCELED, Some(Category::Transient)),
        (SqlState::UNIQUE_VIOLATION, Some(Category::Validation)),
        (SqlState::CHECK_VIOLATION, Some(Category::Validation)),
        (SqlState::FOREIGN_KEY_VIOLATION, Some(Category::Validation)),
        (SqlState::NUMERIC_VALUE_OUT_OF_RANGE, Some(Category::Validation)),
        (SqlState::UNDEFINED_TABLE, None),
        (SqlState::DISK_FULL, None),
    ] {
        assert_eq!(category(&code), expected, "{code:?}");
    }
}
