//! Listing: filters, limits, orders, and where it ends.

use std::ops::ControlFlow;

use bezoar::policy::Category;
use bezoar::record::Header;
use bezoar::replay::{Convention, DeadLetters, Filter, Listing, State, States};

use crate::fixture::{Fixture, partition, records};
use crate::made::{Made, TIME, letters, listed, offsets, publish, source};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_filter_lists_what_it_says() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    let made = [
        Made { category: Category::Validation, error_type: "serde_json::Error", ..Made::of(0) },
        Made { topic: "refunds", partition: 2, ..Made::of(1) },
        Made { message: "Timeout of the inventory".to_owned(), category: Category::Transient, ..Made::of(2) },
        Made { key: Some("shop-2"), ..Made::of(3) },
        Made { key: None, headers: vec![Header::null("trace"), Header::new("tenant", "7")], ..Made::of(4) },
        Made::of(5),
    ];
    let fingerprint = |index: usize| {
        let made: &Made = &made[index];
        bezoar::dead_letter::fingerprint(made.category, made.error_type, &made.message, None)
    };
    publish(&fixture, &topic, 0, made.clone()).await;
    let cases = [
        (Filter::new(), vec![0, 1, 2, 3, 4, 5]),
        (Filter::new().category(Category::Validation).category(Category::Transient), vec![0, 2]),
        (Filter::new().error_type("serde_json::Error"), vec![0]),
        (Filter::new().fingerprint(&fingerprint(2)[..8]), vec![2]),
        (Filter::new().fingerprint(fingerprint(1)), vec![1, 3, 4, 5]),
        (Filter::new().source_topic("refunds"), vec![1]),
        (Filter::new().source_topic("orders").source_partition(0).source_offsets(3..5), vec![3, 4]),
        (Filter::new().source_partition(2), vec![1]),
        (Filter::new().key("shop-2"), vec![3]),
        (Filter::new().since(TIME + 2), vec![2, 3, 4, 5]),
        (Filter::new().since(-1).until(TIME + 2), vec![0, 1]),
        (Filter::new().since(TIME + 2).until(TIME + 4), vec![2, 3]),
        (Filter::new().since(TIME + 6), vec![]),
        (Filter::new().header("tenant"), vec![4]),
        (Filter::new().header_value("trace", "1"), vec![0, 1, 2, 3, 5]),
        (Filter::new().text("TIMEOUT OF"), vec![2]),
        (Filter::new().states(States::Resolved), vec![]),
        (Filter::all(), vec![0, 1, 2, 3, 4, 5]),
        (Filter::new().key("shop-2").text("no such text"), vec![]),
    ];
    let letters = letters(&fixture, &[&topic]);
    for (filter, expected) in cases {
        assert_eq!(listed(&letters, &filter).await, expected, "{filter:?}");
        let mut each = Vec::new();
        let scanned = letters
            .for_each(&filter, |entry| {
                assert!(filter.matches(&entry), "{entry:?}");
                each.push(source(&entry));
                ControlFlow::Continue(())
            })
            .await
            .unwrap();
        assert_eq!((each, scanned.matched), (expected.clone(), expected.len() as u64), "{filter:?}");
    }
    let entry = &letters.list(&Filter::new(), 1).await.unwrap().entries[0];
    assert_eq!((entry.at.to_string(), entry.timestamp), (format!("{topic}/0/0"), TIME));
    assert_eq!(entry.at.topic_id, fixture.topic_id(&topic).await);
    assert_eq!((entry.state.clone(), entry.duplicate_of.clone()), (State::Unresolved, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_are_counted_and_the_first_are_listed() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    publish(&fixture, &topic, 0, (0..150).map(Made::of)).await;
    let letters = letters(&fixture, &[&topic]);
    for (limit, expected) in [(10, 0..10), (0, 0..0), (Listing::LIMIT, 0..100), (1_000, 0..150)] {
        let listing = letters.list(&Filter::new(), limit).await.unwrap();
        assert_eq!(offsets(&listing.entries), expected.collect::<Vec<_>>());
        assert_eq!((listing.matched, listing.has_more()), (150, limit < 150));
    }
    let filtered = letters.list(&Filter::new().source_offsets(50..60), 5).await.unwrap();
    assert_eq!((offsets(&filtered.entries), filtered.matched), ((50..55).collect(), 10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_are_merged_by_time_and_each_stays_in_its_order() {
    let fixture = Fixture::native().await;
    let (topic, other) = (fixture.topic(3).await, fixture.topic(1).await);
    let at = |offset, published| Made { published: TIME + published, ..Made::of(offset) };
    publish(&fixture, &topic, 0, [at(0, 5), at(1, 1), at(2, 7)]).await;
    publish(&fixture, &topic, 1, [at(10, 2), at(11, 6)]).await;
    publish(&fixture, &topic, 2, [at(20, 0)]).await;
    publish(&fixture, &other, 0, [at(30, -9), at(31, -8)]).await;
    let letters = letters(&fixture, &[&topic, &other]);
    for limit in 0..9 {
        let listing = letters.list(&Filter::new(), limit).await.unwrap();
        // The second of partition 0 says that it is older than the first: it still comes after it.
        let expected = [20, 10, 0, 1, 11, 2, 30, 31];
        assert_eq!(offsets(&listing.entries), expected[..limit.min(8)]);
        assert_eq!(listing.matched, 8);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newest_come_first_and_the_rest_is_not_read() {
    let fixture = Fixture::native().await;
    let (topic, other) = (fixture.topic(2).await, fixture.topic(1).await);
    for start in (0..3_000).step_by(500) {
        publish(&fixture, &topic, 0, (start..start + 500).map(Made::of)).await;
    }
    publish(&fixture, &other, 0, [Made::of(2_998)]).await;
    let letters = letters(&fixture, &[&topic, &other]);
    let newest = letters.newest(&Filter::new(), 4).await.unwrap();
    assert_eq!(offsets(&newest.entries), [2_999, 2_998, 2_998, 2_997]);
    assert!(newest.matched < 3_001 && newest.has_more(), "{} were read", newest.matched);
    let all = letters.newest(&Filter::new(), 5_000).await.unwrap();
    assert_eq!((all.entries.len(), all.matched, all.has_more()), (3_001, 3_001, false));
    // Far from the end.
    let found = letters.newest(&Filter::new().source_offsets(5..8), 2).await.unwrap();
    assert_eq!(offsets(&found.entries), [7, 6]);
    assert_eq!(letters.newest(&Filter::new().text("no such text"), 2).await.unwrap().entries, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_published_meanwhile_is_not_listed() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(2).await;
    publish(&fixture, &topic, 0, (0..5).map(Made::of)).await;
    let runtime = tokio::runtime::Handle::current();
    let mut found = Vec::new();
    let each = |entry| {
        if found.is_empty() {
            // Within the call: the ends are known, not all is read.
            tokio::task::block_in_place(|| {
                runtime.block_on(async {
                    publish(&fixture, &topic, 0, (5..9).map(Made::of)).await;
                    publish(&fixture, &topic, 1, (9..12).map(Made::of)).await;
                })
            });
        }
        found.push(source(&entry));
        ControlFlow::Continue(())
    };
    let letters = letters(&fixture, &[&topic]);
    letters.for_each(&Filter::new(), each).await.unwrap();
    assert_eq!(found, [0, 1, 2, 3, 4]);
    assert_eq!(letters.list(&Filter::new(), 0).await.unwrap().matched, 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_break_ends_it_for_all_topics() {
    let fixture = Fixture::native().await;
    let (topic, other) = (fixture.topic(1).await, fixture.topic(1).await);
    publish(&fixture, &topic, 0, (0..5).map(Made::of)).await;
    publish(&fixture, &other, 0, (5..9).map(Made::of)).await;
    let letters = letters(&fixture, &[&topic, &other]);
    for stop in [0, 3, 6] {
        let mut found = Vec::new();
        let each = |entry| {
            found.push(source(&entry));
            if source(&entry) == stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let scanned = letters.for_each(&Filter::new(), each).await.unwrap();
        assert_eq!((found, scanned.matched), ((0..=stop).collect(), stop as u64 + 1));
    }
    // The ports can be used again at once.
    assert_eq!(listed(&letters, &Filter::new()).await.len(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_of_other_records_is_shown_as_it_is() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    fixture.produce(&partition(&topic, 0), records(0..3)).await;
    let letters = letters(&fixture, &[&topic]);
    let listing = letters.list(&Filter::new(), 10).await.unwrap();
    assert_eq!(listing.matched, 3);
    assert!(listing.entries.iter().all(|entry| entry.letter.convention == Convention::Unrecognized));
    assert_eq!(listing.entries[2].letter.value.as_deref(), Some(&b"2"[..]));
    assert_eq!(letters.groups(&Filter::new()).await.unwrap().len(), 1);
    assert_eq!(letters.stats().await.unwrap()[0].other_sources, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_listed_from_nothing() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(3).await;
    assert!(!letters(&fixture, &[&topic]).newest(&Filter::new(), 3).await.unwrap().has_more());
    for letters in [letters(&fixture, &[&topic]), DeadLetters::new(fixture.ports.clone(), [""; 0])] {
        let listing = letters.list(&Filter::new(), 10).await.unwrap();
        assert_eq!((listing.entries, listing.matched, listing.unreadable), (vec![], 0, 0));
        assert!(letters.groups(&Filter::new()).await.unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_published_twice_is_marked_and_not_hidden() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    let again = Made { message: "another failure".to_owned(), ..Made::of(0) };
    let other = Made { topic: "refunds", ..Made::of(0) };
    publish(&fixture, &topic, 0, [Made::of(0), Made::of(1), other, again, Made::of(0)]).await;
    let letters = letters(&fixture, &[&topic]);
    let listing = letters.list(&Filter::new(), 10).await.unwrap();
    let marked = |entries: Vec<Option<bezoar::record::RecordId>>| {
        entries.into_iter().map(|first| first.map(|first| first.offset)).collect::<Vec<_>>()
    };
    let listed = marked(listing.entries.into_iter().map(|entry| entry.duplicate_of).collect());
    assert_eq!((listed, listing.matched), (vec![None, None, None, Some(0), Some(0)], 5));
    let mut each = Vec::new();
    let filter = Filter::new().source_topic("orders");
    letters
        .for_each(&filter, |entry| {
            each.push(entry.duplicate_of);
            ControlFlow::Continue(())
        })
        .await
        .unwrap();
    assert_eq!(marked(each), [None, None, Some(0), Some(0)]);
}
