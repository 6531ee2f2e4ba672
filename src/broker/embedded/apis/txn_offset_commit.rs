//! TxnOffsetCommit, versions 0 to 4.
//!
//! - 1: nothing new in shape. 2: leader epochs. 3: flexible; the member of the group. 4: nothing new in shape.
//! - Version 5 belongs to the second version of transactions (KIP-890), which the broker does not claim to have.
//!
//! The offsets become visible when the transaction is committed. Who names no
//! member commits whatever members the group has.

use kafka_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use kafka_protocol::messages::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};

use super::super::core::Call;
use super::super::groups::Committed;
use super::super::groups::classic::Claimed;
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::State;
use super::super::transactions::Claim;
use super::OK;
use super::offset_commit::{check, id_of};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 3,
    fields: &[
        always(Kind::Text),
        always(Kind::Text),
        always(Kind::Fixed(10)),
        since(3, Kind::Fixed(4)),
        since(3, Kind::Text),
        since(3, Kind::Text),
        always(Kind::Structs(&[
            always(Kind::Text),
            always(Kind::Structs(&[
                always(Kind::Fixed(4)),
                always(Kind::Fixed(8)),
                since(2, Kind::Fixed(4)),
                always(Kind::Text),
            ])),
        ])),
    ],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &TxnOffsetCommitRequest,
) -> TxnOffsetCommitResponse {
    let claim = Claim {
        transactional_id: &request.transactional_id,
        producer_id: request.producer_id.0,
        epoch: request.producer_epoch,
    };
    let claimed = Claimed {
        member_id: &request.member_id,
        instance_id: request.group_instance_id.as_deref(),
        generation: request.generation_id,
    };
    let partitions = request.topics.iter().flat_map(|topic| {
        let id = id_of(state, &topic.name);
        topic.partitions.iter().map(move |partition| (id, partition.partition_index))
    });
    let (now, partitions) = (call.now.elapsed, partitions.collect::<Vec<_>>());
    let allowed = state.transactions.is_ongoing(claim);
    let allowed = allowed.and_then(|()| state.groups.check_commit(now, &request.group_id, claimed, None, &partitions));
    let refused = allowed.err().map(|error| error.code());
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let index = partition.partition_index;
            let answer = TxnOffsetCommitResponsePartition::default().with_partition_index(index);
            if let Some(code) = call.errors.partition(&topic.name, index).or(refused) {
                return answer.with_error_code(code);
            }
            let committed = Committed {
                offset: partition.committed_offset,
                leader_epoch: partition.committed_leader_epoch,
                metadata: partition.committed_metadata.as_deref().unwrap_or_default().to_owned(),
            };
            match check(state, &topic.name, index, &committed) {
                Ok(name) => {
                    state.groups.commit_later(request.producer_id.0, &request.group_id, &name, index, committed);
                    answer.with_error_code(OK)
                }
                Err(code) => answer.with_error_code(code),
            }
        });
        let partitions = partitions.collect();
        TxnOffsetCommitResponseTopic::default().with_name(topic.name.clone()).with_partitions(partitions)
    });
    let topics = topics.collect();
    TxnOffsetCommitResponse::default().with_topics(topics)
}
