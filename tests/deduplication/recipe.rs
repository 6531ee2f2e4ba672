//! What `docs/deduplication.md` shows works.

use tokio::runtime::Handle;

use crate::ledgers;

const PAGE: &str = include_str!("../../docs/deduplication.md");
const SCHEMA: &str = include_str!("../../examples/deduplication/schema.sql");

/// The page's blocks of SQL, in order.
fn blocks() -> Vec<&'static str> {
    let blocks = PAGE.split("```sql\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_page_and_the_example_have_the_same_table() {
    assert!(SCHEMA.contains(blocks()[0]), "{}", blocks()[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_statements_of_the_page_do_what_it_says() {
    // It has the tables of the example.
    let Some(database) = ledgers::postgres().await else { return };
    let client = database.connect(&Handle::current()).await.unwrap();
    let (made, done): (Vec<&str>, Vec<&str>) = blocks().into_iter().partition(|block| block.starts_with("CREATE"));
    assert_eq!((made.len(), done.len()), (4, 4), "a block was added: see what it needs here");
    for block in &made[2..] {
        client.batch_execute(block).await.unwrap();
    }
    let old = "INSERT INTO handled (effect, key, content, handled_at)
               VALUES ('payment', 'order A-0', '', now() - interval '101 days')";
    client.batch_execute(old).await.unwrap();
    for _ in 0..2 {
        for block in &done {
            client.batch_execute(block).await.unwrap();
        }
    }
    assert_eq!(database.payments().await.unwrap(), [("A-1".to_owned(), 1200)]);
    let keys = client.query("SELECT key FROM handled", &[]).await.unwrap();
    assert_eq!(keys.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>(), ["order A-1"]);
    let outbox = client.query("SELECT key FROM outbox WHERE done_at IS NOT NULL", &[]).await.unwrap();
    assert_eq!(outbox.len(), 1);
    database.remove().await.unwrap();
}

/// That a time cannot be part of the partitioning without being part of the key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_cannot_be_partitioned_by_time() {
    let Some(database) = ledgers::postgres().await else { return };
    let client = database.connect(&Handle::current()).await.unwrap();
    let by_time = "CREATE TABLE by_time (key text PRIMARY KEY, at timestamptz NOT NULL) PARTITION BY RANGE (at)";
    let refused = client.batch_execute(by_time).await.unwrap_err();
    assert!(refused.as_db_error().unwrap().message().contains("must include all partitioning columns"), "{refused:?}");
    database.remove().await.unwrap();
}
