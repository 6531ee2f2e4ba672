//! Connections that break: whatever the database had done by then, the payment is made once.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use bezoar::{Event, EventStream, Json};
use tokio::runtime::Handle;

use crate::database::Database;
use crate::key::KeyBy;
use crate::ledgers::{self, Books};
use crate::payments::Paid::{Before, Now};
use crate::proxy::{Failing, Proxy};
use crate::shop::{self, Noted, Shop, soon};

/// A server that can be reached directly and, by another address, through something that fails.
struct Server {
    url: String,
    address: SocketAddr,
    schema: String,
}

impl Server {
    /// The server, if there is one to test with.
    fn find() -> Option<Self> {
        let url = ledgers::server()?;
        let (_, tail) = url.split_once('@').unwrap();
        let host = tail.split(['/', '?']).next().unwrap();
        let address = host.to_socket_addrs().unwrap().next().unwrap();
        Some(Self { url, address, schema: ledgers::schema() })
    }

    /// The tables that are to be tested with.
    async fn tables(&self) -> Books {
        let database = Database::at(&self.url, &self.schema).unwrap();
        database.create().await.unwrap();
        Books::from(database)
    }

    /// The same tables, as seen through `address`.
    fn through(&self, address: SocketAddr) -> Books {
        let (head, tail) = self.url.split_once('@').unwrap();
        let rest = tail.find('/').map_or("", |at| &tail[at..]);
        Books::from(Database::at(&format!("{head}@{address}{rest}"), &self.schema).unwrap())
    }
}

/// The messages of all failures that were retried, with their categories.
fn retried(events: &mut EventStream) -> Vec<String> {
    let mut retried = Vec::new();
    while let Some(event) = events.try_next() {
        if let Event::Retrying { category, message, .. } = event {
            retried.push(format!("{category}: {message}"));
        }
    }
    retried
}

/// Whether a commit whose answer is lost was made is not known. The key knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_not_made_again() {
    let Some(server) = Server::find() else { return };
    let books = server.tables().await;
    let proxy = Proxy::to(server.address, "COMMIT", Failing::Ends, 2).await;
    let (shop, noted) = (Shop::open(1).await, Noted::default());
    shop.order(&["1", "2", "3"]).await;
    let builder = shop.consumer();
    let mut events = builder.events();
    let consumer = shop.pay(builder, &server.through(proxy.address), KeyBy::Origin, noted.all()).await;
    soon("all orders are settled", consumer.caught_up()).await;
    consumer.shutdown().await.unwrap();
    assert_eq!(proxy.left(), 0);
    let retried = retried(&mut events);
    assert_eq!(retried.len(), 2, "{retried:?}");
    for failure in &retried {
        assert!(failure.starts_with("dependency: dependency the payments database failed: "), "{failure}");
    }
    assert_eq!(books.paid().await, ["1", "2", "3"]);
    // Both were committed before their answers were lost.
    assert_eq!((noted.of("1"), noted.of("2"), noted.of("3")), (vec![Before], vec![Before], vec![Now]));
    books.close().await;
}

/// The same where the connection is lost before the commit: then nothing was done, and it is done at the next attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_loses_its_connection_is_made_anew() {
    let Some(server) = Server::find() else { return };
    let books = server.tables().await;
    let proxy = Proxy::to(server.address, "INSERT INTO payments", Failing::Ends, 1).await;
    let (shop, noted) = (Shop::open(1).await, Noted::default());
    shop.order(&["1", "2"]).await;
    let consumer = shop.pay(shop.consumer(), &server.through(proxy.address), KeyBy::Origin, noted.all()).await;
    soon("all orders are settled", consumer.caught_up()).await;
    consumer.shutdown().await.unwrap();
    assert_eq!(proxy.left(), 0);
    assert_eq!(books.paid().await, ["1", "2"]);
    assert_eq!((noted.of("1"), noted.of("2")), (vec![Now], vec![Now]));
    books.close().await;
}

/// A database that hangs is not the record's fault: the handler gives up before the poison timeout does, and does not use that
/// connection again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_hangs_is_given_up_and_not_made_again() {
    let Some(server) = Server::find() else { return };
    let books = server.tables().await;
    let proxy = Proxy::to(server.address, "COMMIT", Failing::Hangs, 1).await;
    let (shop, noted) = (Shop::open(1).await, Noted::default());
    shop.order(&["1", "2"]).await;
    let builder = shop.consumer();
    let mut events = builder.events();
    let patience = Duration::from_secs(2);
    let payments = shop::payments(&server.through(proxy.address), KeyBy::Origin, noted.all(), patience);
    let consumer = builder.topic(&shop.orders, Json, payments).start().await.unwrap();
    soon("all orders are settled", consumer.caught_up()).await;
    consumer.shutdown().await.unwrap();
    assert_eq!(proxy.left(), 0);
    let retried = retried(&mut events);
    assert!(retried[0].ends_with("the payments database failed: no answer within 2s"), "{retried:?}");
    assert_eq!(books.paid().await, ["1", "2"]);
    assert_eq!((noted.of("1"), noted.of("2")), (vec![Before], vec![Now]));
    books.close().await;
}

/// An administrator ends all connections: the handlers connect anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_was_ended_is_made_anew() {
    let Some(database) = ledgers::postgres().await else { return };
    let books = Books::from(database.clone());
    let (shop, noted) = (Shop::open(1).await, Noted::default());
    shop.order(&["1"]).await;
    let consumer = shop.pay(shop.consumer(), &books, KeyBy::Origin, noted.all()).await;
    soon("the first order is settled", consumer.caught_up()).await;

    let client = database.connect(&Handle::current()).await.unwrap();
    let others = "pid <> pg_backend_pid() AND application_name = current_setting('application_name')";
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}");
    let ended = client.execute(&end, &[]).await.unwrap();
    assert!(ended >= 1);
    shop.order(&["2"]).await;
    soon("the second order is settled", consumer.caught_up()).await;
    consumer.shutdown().await.unwrap();
    assert_eq!(books.paid().await, ["1", "2"]);
    assert_eq!((noted.of("1"), noted.of("2")), (vec![Now], vec![Now]));
    assert!(shop.read(&shop.dead_letters()).await.is_empty());
    books.close().await;
}

/// A database that is down when handlers are made is no record's fault: they are made when it is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_are_made_only_where_the_database_answers() {
    let Some(server) = Server::find() else { return };
    // Nothing listens there at first.
    let address = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (shop, noted) = (Shop::open(1).await, Noted::default());
    shop.order(&["1"]).await;
    let builder = shop.consumer();
    let mut events = builder.events();
    let consumer = shop.pay(builder, &server.through(address), KeyBy::Origin, noted.all()).await;
    soon("a handler cannot be made", async {
        while !matches!(events.next().await, Some(Event::RestartScheduled { .. })) {}
    })
    .await;
    let books = server.tables().await;
    let _proxy = Proxy::at(address, server.address).await;
    soon("the order is settled", consumer.caught_up()).await;
    consumer.shutdown().await.unwrap();
    assert!(shop.read(&shop.dead_letters()).await.is_empty());
    assert_eq!(books.paid().await, ["1"]);
    books.close().await;
}
