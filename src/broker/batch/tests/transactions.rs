use super::*;

fn transactional(producer_id: i64, count: usize) -> BatchWriter {
    batch(count).producer(producer_id, 0, 0).transactional()
}

fn aborted(list: &[(i64, i64)]) -> Option<Vec<AbortedTransaction>> {
    Some(list.iter().map(|&(producer_id, first_offset)| AbortedTransaction { producer_id, first_offset }).collect())
}

#[test]
fn aborted_records_and_markers_are_left_out() {
    let bytes = log(&[
        (0, transactional(7, 2)),
        (2, batch(1)),
        (3, transactional(8, 2)),
        (5, transactional(7, 1)),
        (6, BatchWriter::marker(7, 0, false)),
        (7, transactional(7, 2)), // the next transaction of the same producer
        (9, BatchWriter::marker(8, 0, true)),
        (10, BatchWriter::marker(7, 0, true)),
    ]);
    let decoded = decode_with(&bytes, |decoding| decoding.aborted = aborted(&[(7, 0)]));
    assert_eq!(offsets(&decoded), [2, 3, 4, 7, 8]);
    assert_eq!(decoded.next_offset, 11);
    assert_eq!(decoded.batches.last().unwrap().next_offset(), 11);
    let all = decode_from(&bytes, 0);
    assert_eq!(offsets(&all), [0, 1, 2, 3, 4, 5, 7, 8]);
    assert_eq!((all.next_offset, all.batches.len()), (11, 1), "markers do not break a run");
}

#[test]
fn an_aborted_transaction_is_entered_where_it_begins() {
    let bytes = log(&[
        (0, transactional(7, 2)),
        (2, BatchWriter::marker(7, 0, true)),
        (3, transactional(7, 2)),
        (5, BatchWriter::marker(7, 0, false)),
        (6, transactional(7, 1)),
        (7, BatchWriter::marker(7, 0, false)),
        (8, batch(1).producer(7, 0, 0)), // not in a transaction
    ]);
    // Listed in any order.
    let decoded = decode_with(&bytes, |decoding| decoding.aborted = aborted(&[(7, 6), (7, 3)]));
    assert_eq!(offsets(&decoded), [0, 1, 8]);
}

#[test]
fn nothing_but_markers_and_aborted_records_moves_the_offset() {
    let bytes = log(&[(4, transactional(7, 2)), (6, BatchWriter::marker(7, 0, false))]);
    let decoded = decode_with(&bytes, |decoding| (decoding.from, decoding.aborted) = (4, aborted(&[(7, 4)])));
    assert_eq!((decoded.next_offset, decoded.leader_epoch), (7, Some(5)));
    assert_eq!(decoded.batches.len(), 1);
    assert!(decoded.batches[0].is_empty());
    assert_eq!(decoded.batches[0].next_offset(), 7);
}

#[test]
fn a_large_aborted_batch_between_two_is_not_held() {
    let bytes = log(&[(0, batch(1)), (1, transactional(7, 1000)), (1001, batch(1))]);
    let decoded = decode_with(&bytes, |decoding| decoding.aborted = aborted(&[(7, 1)]));
    assert_eq!(offsets(&decoded), [0, 1001]);
    assert!(decoded.batches.iter().map(RecordBatch::cost).sum::<usize>() < 1000);
}

#[test]
fn markers_that_cannot_be_read_stop_nothing() {
    let control = |batch: BatchWriter| batch.producer(7, 0, -1).transactional().control();
    let unreadable = [
        control(BatchWriter::new().record(None, None, vec![])),
        control(BatchWriter::new().record(Some(b"\0"), None, vec![])),
        control(BatchWriter::new()),
        control(batch(1)).attributes(2),
        control(batch(1)).attributes(7),
    ];
    for marker in unreadable {
        let bytes = log(&[(0, transactional(7, 1)), (1, marker), (2, transactional(7, 1))]);
        let decoded = decode_with(&bytes, |decoding| decoding.aborted = aborted(&[(7, 0)]));
        // The transaction it ends was aborted; the next one must not be lost with it.
        assert_eq!((offsets(&decoded), decoded.next_offset, decoded.damage), (vec![2], 3, None));
    }
}

#[test]
fn a_newer_marker_is_understood() {
    let key = [0, 9, 0, 0, 1, 2, 3];
    let marker = BatchWriter::new().record(Some(&key), None, vec![]).producer(7, 0, -1).transactional().control();
    let bytes = log(&[(0, transactional(7, 1)), (1, marker), (2, transactional(7, 1))]);
    let decoded = decode_with(&bytes, |decoding| decoding.aborted = aborted(&[(7, 0)]));
    assert_eq!(offsets(&decoded), [2]);
}

#[test]
fn aborted_batches_need_not_be_readable() {
    let bytes = log(&[(0, transactional(7, 1).attributes(7)), (1, batch(1))]);
    let decoded = decode_with(&bytes, |decoding| decoding.aborted = aborted(&[(7, 0)]));
    assert_eq!((offsets(&decoded), decoded.damage), (vec![1], None));
}
