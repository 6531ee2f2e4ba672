use super::damage::old_messages_below;
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
    loop {
        let rest = &records[scan.bytes..];
        if let Some(below) = old_messages_below(rest, scan.next_offset) {
            scan.bytes += below;
            continue;
        }
        let header = BatchHeader::read(rest).ok().filter(|header| header.size <= rest.len());
        let Some((header, last_offset)) = header.and_then(|header| Some((header, header.last_offset()?))) else {
            return scan;
        };
        scan.bytes += header.size;
        if last_offset >= scan.next_offset {
            scan.next_offset = last_offset + 1;
            scan.leader_epoch = header.known_leader_epoch();
        }
    }
}
