use super::header::BatchHeader;

/// What the headers of batches say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Where the next fetch begins, if the batches can be read.
    pub(crate) next_offset: i64,
    /// The leader epoch of the last batch.
    pub(crate) leader_epoch: Option<i32>,
    /// How many bytes the whole batches take.
    pub(crate) bytes: usize,
}

/// Looks at the headers only, without checking anything else: where the fetch after one at `from`, answered with
/// `records`, begins. It stops where [`decode`](super::decode) is sure to stop, but may go on where that finds damage.
pub(crate) fn scan(records: &[u8], from: i64) -> Scan {
    let mut scan = Scan { next_offset: from, leader_epoch: None, bytes: 0 };
    while let Ok(header) = BatchHeader::read(&records[scan.bytes..]) {
        let Some(last_offset) = header.last_offset().filter(|_| header.size <= records.len() - scan.bytes) else {
            break;
        };
        scan.bytes += header.size;
        if last_offset >= scan.next_offset {
            scan.next_offset = last_offset + 1;
            scan.leader_epoch = header.known_leader_epoch();
        }
    }
    scan
}
