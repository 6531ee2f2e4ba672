//! Dead letters as they come.

use bezoar::policy::Category;
use bezoar::replay::{Filter, Follow};
use tokio::time::timeout;

use crate::fixture::{Fixture, PATIENCE};
use crate::made::{Made, letters, publish, source};

async fn next(follow: &mut Follow, count: usize) -> Vec<i64> {
    let mut found = Vec::new();
    for _ in 0..count {
        let entry = timeout(PATIENCE, follow.next()).await.expect("one comes").unwrap();
        found.push(source(&entry));
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_ones_come_as_they_are_published() {
    let fixture = Fixture::native().await;
    let (topic, other) = (fixture.topic(2).await, fixture.topic(1).await);
    publish(&fixture, &topic, 0, (0..3).map(Made::of)).await;
    let letters = letters(&fixture, &[&topic, &other]);
    let filter = Filter::new().category(Category::Poison);
    let mut follow = letters.follow(&filter).await.unwrap();
    publish(&fixture, &topic, 0, [Made { category: Category::Unknown, ..Made::of(3) }, Made::of(4)]).await;
    assert_eq!(next(&mut follow, 1).await, [4]);
    publish(&fixture, &topic, 1, [Made::of(5), Made::of(6)]).await;
    assert_eq!(next(&mut follow, 2).await, [5, 6]);
    publish(&fixture, &other, 0, [Made::of(7)]).await;
    assert_eq!(next(&mut follow, 1).await, [7]);
    drop(follow);
    let mut follow = letters.follow(&filter.since(Made::of(2).published)).await.unwrap();
    let mut found = next(&mut follow, 5).await;
    found.sort_unstable();
    assert_eq!(found, [2, 4, 5, 6, 7]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_broker_that_is_away_is_waited_for() {
    let fixture = Fixture::native().await;
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let letters = letters(&fixture, &[&topic]);
    let mut follow = letters.follow(&Filter::new()).await.unwrap();
    publish(&fixture, &topic, 0, [Made::of(0)]).await;
    assert_eq!(next(&mut follow, 1).await, [0]);
    broker.go_down().await;
    broker.come_back().await.unwrap();
    publish(&fixture, &topic, 0, [Made::of(1)]).await;
    assert_eq!(next(&mut follow, 1).await, [1]);
}
