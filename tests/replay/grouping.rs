//! Groups and numbers.

use bezoar::policy::Category;
use bezoar::replay::{DeadLetters, Filter, ReplayOptions, Selection, States};

use crate::fixture::Fixture;
use crate::made::{Made, TIME, letters, listed, publish, source};

fn other(offset: i64) -> Made {
    Made { category: Category::Validation, error_type: "Missing", message: "no id".to_owned(), ..Made::of(offset) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_of_one_fault_are_one_group() {
    let fixture = Fixture::native().await;
    let (topic, second) = (fixture.topic(2).await, fixture.topic(1).await);
    publish(&fixture, &topic, 0, [Made::of(3), other(4), Made::of(5)]).await;
    publish(&fixture, &topic, 1, [Made::of(9), Made::of(1)]).await;
    publish(&fixture, &second, 0, [other(2), Made::of(0)]).await;
    let letters = letters(&fixture, &[&topic, &second]);
    let groups = letters.groups(&Filter::new()).await.unwrap();
    let found: Vec<_> =
        groups.iter().map(|it| (it.count, it.first_seen - TIME, it.last_seen - TIME, source(&it.example))).collect();
    assert_eq!(found, [(5, 0, 9, 9), (2, 2, 4, 4)]);
    assert_eq!(groups[0].fingerprint, groups[0].example.letter.fingerprint);
    assert_eq!((groups[0].example.letter.value.as_deref(), groups.others), (Some(&b"{}"[..]), 0));
    let some = letters.groups(&Filter::new().category(Category::Validation)).await.unwrap();
    assert_eq!((some.len(), some[0].count), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_are_told_per_topic() {
    let fixture = Fixture::native().await;
    let (topic, empty) = (fixture.topic(2).await, fixture.topic(1).await);
    publish(&fixture, &topic, 0, [Made::of(3), other(4)]).await;
    publish(&fixture, &topic, 1, [Made { topic: "refunds", ..Made::of(1) }]).await;
    let letters: DeadLetters = letters(&fixture, &[&empty, &topic]);
    let stats = letters.stats().await.unwrap();
    assert_eq!((&*stats[0].topic, stats[0].total, stats[0].oldest), (empty.as_str(), 0, None));
    let stats = &stats[1];
    assert_eq!((&*stats.topic, stats.total, stats.unresolved), (topic.as_str(), 3, 3));
    assert_eq!((stats.replayed, stats.discarded, stats.claimed, stats.parked), (0, 0, 0, 0));
    assert_eq!(stats.categories, [(Category::Poison, 2), (Category::Validation, 1)].into());
    assert_eq!(stats.sources, [("orders".into(), 2), ("refunds".into(), 1)].into());
    assert_eq!((stats.other_sources, stats.oldest), (0, Some(TIME + 1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_became_of_dead_letters_is_told_and_asked_for() {
    let fixture = Fixture::native().await;
    let (topic, target) = (fixture.topic(2).await, fixture.topic(1).await);
    let replayed_often = |offset| Made { replay_count: 3, ..Made::of(offset) };
    publish(&fixture, &topic, 0, [Made::of(0), other(1), Made::of(2), replayed_often(3)]).await;
    publish(&fixture, &topic, 1, [Made::of(4), other(5)]).await;
    let letters = letters(&fixture, &[&topic]);
    letters.discard(&Selection::Matching(Filter::new().category(Category::Validation)), "known").await.unwrap();
    let mut options = ReplayOptions::default();
    options.target = Some(target.as_str().into());
    options.allowed_targets = vec![target.as_str().into()];
    let selection = Selection::Matching(Filter::new().source_offsets(2..3));
    let report = letters.replay(&selection, &options, |_| {}).await.unwrap();
    assert_eq!(report.success, 1, "{report:?}");

    let stats = &letters.stats().await.unwrap()[0];
    assert_eq!((stats.total, stats.unresolved, stats.replayed, stats.discarded, stats.claimed), (6, 3, 1, 2, 0));
    assert_eq!((stats.parked, stats.oldest), (1, Some(TIME)));
    assert_eq!(stats.categories, [(Category::Poison, 3)].into());

    assert_eq!(listed(&letters, &Filter::new()).await, [0, 3, 4]);
    assert_eq!(listed(&letters, &Filter::all()).await, [0, 1, 2, 3, 4, 5]);
    let resolved = letters.list(&Filter::new().states(States::Resolved), 10).await.unwrap();
    let results: Vec<_> = resolved.entries.iter().map(|it| (source(it), it.state.result().unwrap())).collect();
    let known = || "discarded: known".to_owned();
    assert_eq!(results, [(1, known()), (2, format!("success: {target}/0/0")), (5, known())]);
    assert_eq!(letters.show(&resolved.entries[0].at).await.as_ref(), Ok(&resolved.entries[0]));
    let newest = letters.newest(&Filter::all(), 2).await.unwrap();
    assert_eq!(newest.entries[0].state, resolved.entries[2].state);

    let groups = letters.groups(&Filter::all()).await.unwrap();
    assert_eq!(groups.iter().map(|group| group.count).collect::<Vec<_>>(), [4, 2]);
    assert_eq!(groups[1].example.state.result(), Some(known()));
    assert_eq!(letters.groups(&Filter::new()).await.unwrap()[0].count, 3);
}
