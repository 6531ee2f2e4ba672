use proptest::prelude::*;

use super::super::condition::at;
use super::*;

const TOPIC: &str = "orders.dlq.poison";

fn reading(depth: u64) -> Reading {
    let found = Found { id: Some(Uuid::from_u128(1)), depth, oldest: None };
    Reading { topic: TOPIC.into(), category: Some(Category::Poison), found: Some(found) }
}

fn told(depth: &mut Depth, second: u64, count: u64) -> Option<Told> {
    depth.read(at(second), reading(count), &Limits::default())
}

#[test]
fn at_or_above_critical_only_the_critical_alert_is_told() {
    let mut depth = Depth::default();
    assert_eq!(told(&mut depth, 0, 99), None);
    let critical = told(&mut depth, 30, 1_234).unwrap();
    assert_eq!(critical.title, "Critical: dead letters in orders.dlq.poison");
    assert!(
        critical.message.starts_with("depth is 1,234, threshold is 1,000, growing by 2270 "),
        "{}",
        critical.message
    );
    assert_eq!(told(&mut depth, 60, 2_000), None);
    let warning = told(&mut depth, 90, 500).unwrap();
    assert_eq!(warning.title, "Warning: dead letters in orders.dlq.poison");
    assert!(warning.message.starts_with("depth is 500, threshold is 100"), "{}", warning.message);
    let over = told(&mut depth, 3_690, 3).unwrap();
    assert_eq!(over.title, "Resolved: dead letters in orders.dlq.poison");
    assert_eq!(over.message, "depth is 3, below the threshold of 100 after 1h 1m (it was 2,000 at the most)");
}

#[test]
fn exactly_the_thresholds_count_and_a_depth_around_them_does_not_flap() {
    let mut depth = Depth::default();
    let sequence = [99, 100, 95, 100, 91, 99, 90, 89, 99, 100, 1_000, 950, 1_001, 899, 950];
    let heard: Vec<_> = sequence
        .into_iter()
        .enumerate()
        .filter_map(|(second, count)| told(&mut depth, second as u64, count).map(|told| (count, told.word)))
        .map(|(count, word)| match word {
            Word::Lasts { severity, .. } => (count, Some(severity)),
            Word::Over { .. } => (count, None),
        })
        .collect();
    let (warning, critical) = (Some(Severity::Warning), Some(Severity::Critical));
    assert_eq!(heard, [(100, warning), (89, None), (100, warning), (1_000, critical), (899, warning)]);
}

#[test]
fn growth_is_per_minute_over_the_window_and_begins_anew_with_the_topic() {
    let limits = Limits::default();
    let mut depth = Depth::default();
    let growth = |depth: &Depth| depth.health(at(0), &limits).unwrap().growth;
    told(&mut depth, 0, 10);
    assert_eq!(growth(&depth), None);
    told(&mut depth, 30, 20);
    assert_eq!(growth(&depth), Some(20.0));
    for (minute, count) in (1..).zip([30, 40, 50, 60, 70, 70, 70, 70, 70, 70]) {
        told(&mut depth, 60 * minute, count);
    }
    // Ten minutes: what came before the last five is not looked at.
    assert_eq!(growth(&depth), Some(0.0));
    assert_eq!(depth.health(at(600), &limits).unwrap().window, limits.window);
    told(&mut depth, 900, 0);
    assert_eq!(growth(&depth), Some(-14.0));
    let mut anew = reading(5);
    anew.found = anew.found.map(|found| Found { id: Some(Uuid::from_u128(2)), ..found });
    depth.read(at(930), anew, &limits);
    assert_eq!(growth(&depth), None);
}

#[test]
fn a_topic_is_gone_when_two_looks_say_so() {
    let (limits, gone) = (Limits::default(), Reading { found: None, ..reading(0) });
    let mut depth = Depth::default();
    told(&mut depth, 0, 100).unwrap();
    assert_eq!(depth.read(at(30), gone.clone(), &limits), None);
    assert_eq!(depth.health(at(30), &limits).unwrap().status, Status::Warning);
    let over = depth.read(at(60), gone.clone(), &limits).unwrap();
    assert_eq!(over.title, "Resolved: dead-letter topic orders.dlq.poison is gone");
    assert_eq!(depth.health(at(60), &limits).unwrap().status, Status::Missing);
    assert_eq!(depth.read(at(90), gone, &limits), None);
    assert!(told(&mut depth, 120, 100).is_some());
}

#[test]
fn age_counts_from_the_oldest() {
    let limits = Limits::default();
    let mut depth = Depth::default();
    let mut old = reading(100);
    old.found = old.found.map(|found| Found { oldest: Some(at(0).wall), ..found });
    let message = depth.read(at(7_200), old, &limits).unwrap().message;
    assert_eq!(message, "depth is 100, threshold is 100, the oldest is 2h old");
    assert_eq!(depth.health(at(7_260), &limits).unwrap().age, Some(Duration::from_secs(7_260)));
}

proptest! {
    #[test]
    fn the_level_fits_the_depth_within_a_tenth(depths in prop::collection::vec(0u64..1_500, 1..80)) {
        let (limits, mut level_now) = (Limits::default(), None);
        for depth in depths {
            level_now = level(depth, level_now, &limits);
            match level_now {
                Some(Severity::Critical) => prop_assert!(depth >= 900),
                Some(Severity::Warning) => prop_assert!((90..1_000).contains(&depth)),
                _ => prop_assert!(depth < 100),
            }
        }
    }

    #[test]
    fn thresholds_of_any_size_can_be_left(warning in 1u64..1_000_000) {
        let limits = Limits { warning, critical: warning + 1, ..Limits::default() };
        prop_assert_eq!(level(0, Some(Severity::Critical), &limits), None);
        prop_assert_eq!(level(warning, None, &limits), Some(Severity::Warning));
    }
}
