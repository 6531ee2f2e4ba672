mod world;

use kafka_protocol::ResponseError;
use proptest::prelude::*;

use self::world::World;
use super::*;
use crate::broker::ErrorCode;

type TestLine = Line<u32, u32>;

fn limits() -> Limits {
    Limits { batch_bytes: 100, linger: Duration::ZERO, numbered: true }
}

fn call(number: u32, bytes: usize, now: Instant) -> Call<u32, u32> {
    let deadline = now + Duration::from_secs(60);
    Call { records: vec![number], bytes, enqueued: now, deadline, reply: number }
}

/// A line with an id, and so many calls of 100 bytes, each a batch of its own.
fn line(calls: u32, now: Instant) -> TestLine {
    let mut line = Line::new(limits());
    for number in 0..calls {
        line.enqueue(call(number, 100, now));
    }
    if calls > 0 {
        line.identify(7);
        acknowledged(&mut line, now);
    }
    line
}

/// Lets the line have an acknowledgement behind it, so that it sends several batches at a time.
fn acknowledged(line: &mut TestLine, now: Instant) {
    line.numbering.as_mut().unwrap().acknowledged = Some(now);
}

fn error(code: ResponseError) -> BrokerError {
    BrokerError::Response { doing: "testing".to_owned(), code: ErrorCode(code.code()), message: None }
}

fn fate(code: ResponseError) -> Fate {
    Fate::of(code.code(), -1, || error(code))
}

/// Everything that may be sent now.
fn take_all(line: &mut TestLine, now: Instant) -> Vec<Parcel<u32>> {
    std::iter::from_fn(|| line.take(now)).collect()
}

fn answer(line: &mut TestLine, parcel: Parcel<u32>, fate: Fate, now: Instant) -> Vec<(u32, Result<i64, BrokerError>)> {
    let done = line.answer(parcel.batch, parcel.body, fate, now, 0.5);
    done.into_iter().map(|done| (done.reply, done.result)).collect()
}

/// Epoch and sequence of each.
fn numbers(parcels: &[Parcel<u32>]) -> Vec<(i16, i32)> {
    parcels.iter().map(|parcel| parcel.stamp.map(|stamp| (stamp.epoch, stamp.sequence)).unwrap()).collect()
}

const LATER: Duration = Duration::from_secs(2);

#[test]
fn what_comes_while_a_batch_is_under_way_shares_the_next_one() {
    let now = Instant::now();
    let mut line = line(0, now);
    line.enqueue(call(0, 10, now));
    assert_eq!(line.wants_id(), Some(None));
    assert!(line.take(now).is_none());
    line.identify(7);
    let first = line.take(now).unwrap();
    line.enqueue(call(1, 10, now));
    line.enqueue(call(2, 10, now));
    assert!(line.take(now).is_none());
    assert_eq!(answer(&mut line, first, Fate::Appended(5), now), [(0, Ok(5))]);
    let second = line.take(now).unwrap();
    assert_eq!(second.body.records, [1, 2]);
    assert_eq!(answer(&mut line, second, Fate::Appended(6), now), [(1, Ok(6)), (2, Ok(7))]);
    assert!(line.is_idle());
}

#[test]
fn full_batches_do_not_wait_and_five_at_most_are_unsettled() {
    let now = Instant::now();
    let mut line = line(9, now);
    let mut sent = take_all(&mut line, now);
    assert_eq!(numbers(&sent), [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)]);
    // The broker counts those after the first, too, when it looks whether it knows it again.
    let second = sent.remove(1);
    answer(&mut line, second, Fate::Appended(1), now);
    assert!(line.take(now).is_none());
    let first = sent.remove(0);
    answer(&mut line, first, Fate::Appended(0), now);
    assert_eq!(numbers(&take_all(&mut line, now)), [(0, 5), (0, 6)]);
}

#[test]
fn a_partition_that_may_not_know_the_producer_gets_one_batch_at_a_time() {
    let now = Instant::now();
    let mut fresh = Line::new(limits());
    (0..3).for_each(|number| fresh.enqueue(call(number, 100, now)));
    fresh.identify(7);
    let mut sent = take_all(&mut fresh, now);
    assert_eq!(numbers(&sent), [(0, 0)]);
    answer(&mut fresh, sent.remove(0), fate(ResponseError::NotLeaderOrFollower), now);
    let mut sent = take_all(&mut fresh, now + LATER);
    assert_eq!(numbers(&sent), [(0, 0)], "still");
    answer(&mut fresh, sent.remove(0), Fate::Appended(0), now);
    assert_eq!(numbers(&take_all(&mut fresh, now)), [(0, 1), (0, 2)]);

    let mut forgotten = line(3, now);
    let mut sent = take_all(&mut forgotten, now);
    answer(&mut forgotten, sent.remove(0), fate(ResponseError::UnknownProducerId), now);
    for behind in sent {
        answer(&mut forgotten, behind, fate(ResponseError::OutOfOrderSequenceNumber), now);
    }
    assert_eq!(numbers(&take_all(&mut forgotten, now + LATER)), [(1, 0)]);
    assert_eq!(numbers(&take_all(&mut line(2, now), now + KNOWN_FOR)), [(0, 0)], "idle for too long");
}

#[test]
fn with_linger_a_batch_waits_for_others_until_its_time_or_until_it_is_full() {
    let now = Instant::now();
    let mut line = Line::new(Limits { linger: Duration::from_millis(5), ..limits() });
    line.enqueue(call(0, 40, now));
    line.identify(7);
    acknowledged(&mut line, now);
    assert_eq!(line.due(now), Some(now + Duration::from_millis(5)));
    assert!(line.take(now).is_none());
    line.enqueue(call(1, 40, now));
    line.enqueue(call(2, 40, now));
    assert_eq!(line.take(now).unwrap().body.records, [0, 1]);
    assert!(line.take(now).is_none());
    assert_eq!(line.take(now + Duration::from_millis(5)).unwrap().body.records, [2], "though one is under way");
}

#[test]
fn a_failed_batch_is_sent_again_before_those_behind_it_with_the_same_number() {
    let now = Instant::now();
    let mut line = line(7, now);
    let mut sent = take_all(&mut line, now);
    let first = sent.remove(0);
    answer(&mut line, first, fate(ResponseError::NotLeaderOrFollower), now);
    for behind in sent {
        answer(&mut line, behind, fate(ResponseError::OutOfOrderSequenceNumber), now);
    }
    assert!(line.take(now).is_none(), "a pause comes first");
    let sent = take_all(&mut line, now + LATER);
    assert_eq!(numbers(&sent), [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)]);
}

#[test]
fn a_refused_call_fails_alone_and_those_behind_it_are_numbered_anew() {
    let now = Instant::now();
    let mut line = line(3, now);
    let mut sent = take_all(&mut line, now);
    let first = sent.remove(0);
    let refused = answer(&mut line, first, fate(ResponseError::MessageTooLarge), now);
    assert_eq!(refused, [(0, Err(error(ResponseError::MessageTooLarge)))]);
    assert!(line.take(now).is_none(), "the fate of the others is not certain yet");
    for behind in sent {
        assert_eq!(answer(&mut line, behind, fate(ResponseError::OutOfOrderSequenceNumber), now), []);
    }
    assert_eq!(numbers(&take_all(&mut line, now + LATER)), [(1, 0), (1, 1)]);
}

#[test]
fn a_refused_batch_of_several_calls_is_taken_apart() {
    let now = Instant::now();
    let mut line = Line::new(limits());
    line.identify(7);
    acknowledged(&mut line, now);
    (0..3).for_each(|number| line.enqueue(call(number, 20, now)));
    let all = line.take(now).unwrap();
    assert_eq!(answer(&mut line, all, fate(ResponseError::InvalidRecord), now), []);
    let mut sent = take_all(&mut line, now);
    assert_eq!(sent.iter().map(|parcel| &parcel.body.records[..]).collect::<Vec<_>>(), [[0], [1], [2]]);
    assert_eq!(numbers(&sent), [(1, 0), (1, 1), (1, 2)]);
    let first = sent.remove(0);
    assert_eq!(answer(&mut line, first, Fate::Appended(0), now), [(0, Ok(0))]);
}

#[test]
fn a_batch_whose_fate_is_unknown_is_not_numbered_anew() {
    let now = Instant::now();
    let mut line = line(2, now);
    let mut sent = take_all(&mut line, now);
    let (second, first) = (sent.remove(1), sent.remove(0));
    answer(&mut line, first, Fate::Unclear(error(ResponseError::NetworkException)), now);
    answer(&mut line, second, fate(ResponseError::NotLeaderOrFollower), now);
    let now = now + LATER;
    let mut sent = take_all(&mut line, now);
    assert_eq!(numbers(&sent), [(0, 0), (0, 1)]);
    let (second, first) = (sent.remove(1), sent.remove(0));
    let failed = answer(&mut line, first, fate(ResponseError::OutOfOrderSequenceNumber), now);
    assert!(matches!(&failed[..], [(0, Err(error))] if error.to_string().contains("look in the log")), "{failed:?}");
    answer(&mut line, second, fate(ResponseError::OutOfOrderSequenceNumber), now);
    assert_eq!(numbers(&take_all(&mut line, now + LATER)), [(1, 0)], "the second certainly was not appended");
}

#[test]
fn a_fenced_producer_and_a_used_up_epoch_get_another_id() {
    let now = Instant::now();
    let mut fenced = line(1, now);
    let parcel = fenced.take(now).unwrap();
    answer(&mut fenced, parcel, fate(ResponseError::InvalidProducerEpoch), now);
    assert_eq!(fenced.wants_id(), Some(Some(7)));
    fenced.identify(8);
    let parcel = fenced.take(now + LATER).unwrap();
    assert_eq!(parcel.stamp, Some(Stamp { producer_id: 8, epoch: 0, sequence: 0 }));

    let mut used_up = line(1, now);
    used_up.numbering = Some(Numbering { producer_id: 7, epoch: i16::MAX, next: 0, acknowledged: None });
    let parcel = used_up.take(now).unwrap();
    answer(&mut used_up, parcel, fate(ResponseError::UnknownProducerId), now);
    assert_eq!(used_up.wants_id(), Some(Some(7)));
}

#[test]
fn numbers_wrap_to_zero() {
    let now = Instant::now();
    let mut line = line(2, now);
    line.numbering = Some(Numbering { producer_id: 7, epoch: 0, next: i32::MAX, acknowledged: Some(now) });
    assert_eq!(numbers(&take_all(&mut line, now)), [(0, i32::MAX), (0, 0)]);
}

#[test]
fn a_batch_that_the_broker_knows_without_its_offset_is_appended() {
    let now = Instant::now();
    let mut line = line(1, now);
    let parcel = line.take(now).unwrap();
    assert_eq!(answer(&mut line, parcel, fate(ResponseError::DuplicateSequenceNumber), now), [(0, Ok(-1))]);
}

#[test]
fn time_runs_out_for_what_waits_and_for_what_is_under_way() {
    let now = Instant::now();
    let mut line = line(7, now);
    let sent = take_all(&mut line, now);
    let late = now + Duration::from_secs(60);
    assert_eq!(line.deadline(), Some(late));
    let done = line.expire(late, |_| error(ResponseError::RequestTimedOut));
    assert_eq!(done.len(), 7);
    assert!(!line.is_idle(), "their answers are still to come");
    for parcel in sent {
        assert_eq!(answer(&mut line, parcel, Fate::Unclear(error(ResponseError::NetworkException)), late), []);
    }
    assert!(line.is_idle());
    line.enqueue(call(7, 10, late));
    assert_eq!(numbers(&take_all(&mut line, late + LATER)), [(1, 0)], "what may still arrive is shut out");
}

#[test]
fn without_numbers_one_batch_at_a_time_is_under_way() {
    let now = Instant::now();
    let mut line = Line::new(Limits { numbered: false, ..limits() });
    (0..3).for_each(|number| line.enqueue(call(number, 100, now)));
    assert_eq!(line.wants_id(), None);
    let first = line.take(now).unwrap();
    assert_eq!((first.stamp, line.take(now).is_none()), (None, true));
    answer(&mut line, first, Fate::Unclear(error(ResponseError::NetworkException)), now);
    let again = line.take(now + LATER).unwrap();
    assert_eq!(again.body.records, [0]);
    answer(&mut line, again, fate(ResponseError::MessageTooLarge), now);
    assert_eq!(line.take(now + LATER).unwrap().body.records, [1]);
}

#[test]
fn pauses_grow_to_a_second() {
    let pauses: Vec<_> = (1..9).map(|failures| pause(failures, 0.5).as_millis()).collect();
    assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1_000, 1_000]);
    assert!(pause(u32::MAX, 0.99) < Duration::from_millis(1_250) && pause(1, 0.0) == Duration::from_millis(15));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Requests and answers get lost, connections are cut while requests are still on them, leaders move, batches are refused,
    /// time runs out: nothing is in the log twice, in part or out of order, and what is acknowledged is there.
    #[test]
    fn nothing_is_doubled_reordered_torn_or_lost(events in prop::collection::vec((any::<u8>(), any::<u8>()), 0..300)) {
        let mut world = World::new(true);
        for (event, argument) in events {
            world.happen(event, argument);
        }
        world.calm_down();
        world.check();
    }

    /// Without numbers a batch may be there twice, but what is acknowledged is there, in order.
    #[test]
    fn without_numbers_nothing_is_lost(events in prop::collection::vec((any::<u8>(), any::<u8>()), 0..200)) {
        let mut world = World::new(false);
        for (event, argument) in events {
            world.happen(event, argument);
        }
        world.calm_down();
        world.check();
    }
}
