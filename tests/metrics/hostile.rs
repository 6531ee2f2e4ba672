use bezoar::web::MAX_CONNECTIONS;
use bezoar::{Delivery, Failure, Utf8, handler_fn};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{Cluster, eventually, serve};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_say_nothing_or_never_read_delay_no_record_and_are_cut_off() {
    let cluster = Cluster::embedded().await;
    let (group, topic) = (cluster.name("hostile"), cluster.topic("hostile", 1).await);
    let handler = handler_fn(|_: String, _: Delivery| async { Ok::<(), Failure>(()) });
    let consumer = cluster.lone(&group).topic(&topic, Utf8, handler).start().await.unwrap();
    let served = serve([consumer.handle()]).await;
    let mut clients = Vec::new();
    for number in 0..MAX_CONNECTIONS + 8 {
        let mut client = TcpStream::connect(served.address).await.unwrap();
        // Some begin to ask, some ask and don't read.
        let asked: &[u8] = if number % 2 == 0 { b"GET /metr" } else { b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" };
        client.write_all(asked).await.unwrap();
        clients.push(client);
    }
    cluster.values(&topic, 0, 0..1_000).await;
    eventually("all is handled", async || consumer.counts().total.handled == 1_000).await;
    eventually("the next client is answered", async || served.get("/health/live").await.0 == 200).await;
    drop(clients);
    consumer.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_too_large_or_none_is_refused_and_the_next_is_answered() {
    let served = serve([]).await;
    let header = "x".repeat(64 * 1024);
    let (status, _) = served.send(&format!("GET /health HTTP/1.1\r\nHost: x\r\nX-Large: {header}\r\n\r\n")).await;
    // It may be cut off before it has read the answer.
    assert!(matches!(status, 0 | 400..=499), "{status}");
    let many: String = (0..500).map(|number| format!("X-{number}: x\r\n")).collect();
    let (status, _) = served.send(&format!("GET /health HTTP/1.1\r\nHost: x\r\n{many}\r\n")).await;
    assert!(matches!(status, 0 | 400..=499), "{status}");
    let (status, _) = served.send("\u{0}\u{1}\u{2}\r\n\r\n").await;
    assert!(matches!(status, 0 | 400..=499), "{status}");
    let (status, body) = served.get("/health").await;
    assert_eq!((status, body.trim()), (200, r#"{"consumers":[],"ready":true}"#));
}
