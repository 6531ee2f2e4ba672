//! Which handler serves which request.

use std::time::Duration;

use super::api::Body;
use super::apis::{self, fetch::Wait};
use super::core::{Call, Core, Now, Outcome, Waiting};
use super::groups::{Answer, Ticket};
use super::reply::Reply;

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// For data, so long at most.
    ForData(Duration),
    /// For other members of its group; the answer comes by this name.
    ForMembers(Ticket),
}

impl Core {
    /// Serves a request, or says what it waits for.
    pub(super) fn perform(&mut self, now: Now, waiting: &mut Waiting, wait: Wait) -> Result<Outcome, Pause> {
        let Waiting { request, plan, fetch, .. } = waiting;
        let touched =
            if self.faults.concern(request.api) { apis::touched(&request.body, &self.state) } else { Vec::new() };
        let state = &mut self.state;
        let mut reply = Reply::new(&mut self.faults, request, touched);
        let call = Call { version: request.version, now, client: &request.client, errors: &plan.errors };
        Ok(match &request.body {
            Body::Produce(body) => match apis::produce::handle(state, &call, body) {
                apis::produce::Done::Answer(answer) => reply.send(answer),
                apis::produce::Done::Silence => Outcome::Silence,
                apis::produce::Done::Close => Outcome::Close,
            },
            Body::Fetch(body) => {
                let context = fetch.get_or_insert_with(|| apis::fetch::begin(state, &call, body));
                reply.send_fetched(apis::fetch::handle(state, &call, body, context, wait).map_err(Pause::ForData)?)
            }
            Body::ListOffsets(body) => reply.send(apis::list_offsets::handle(state, &call, body)),
            Body::Metadata(body) => reply.send(apis::metadata::handle(state, &call, body)),
            Body::OffsetCommit(body) => reply.send(apis::offset_commit::handle(state, &call, body)),
            Body::OffsetFetch(body) => reply.send(apis::offset_fetch::handle(state, &call, body)),
            Body::FindCoordinator(body) => reply.send(apis::find_coordinator::handle(state, &call, body)),
            Body::JoinGroup(body) => {
                reply.send(apis::join_group::handle(state, &call, body).map_err(Pause::ForMembers)?)
            }
            Body::SyncGroup(body) => {
                reply.send(apis::sync_group::handle(state, &call, body).map_err(Pause::ForMembers)?)
            }
            Body::Heartbeat(body) => reply.send(apis::heartbeat::handle(state, &call, body)),
            Body::LeaveGroup(body) => reply.send(apis::leave_group::handle(state, &call, body)),
            Body::ConsumerGroupHeartbeat(body) => {
                reply.send(apis::consumer_group_heartbeat::handle(state, &call, body))
            }
            Body::ConsumerGroupDescribe(body) => reply.send(apis::consumer_group_describe::handle(state, &call, body)),
            Body::OffsetDelete(body) => reply.send(apis::offset_delete::handle(state, &call, body)),
            Body::DescribeGroups(body) => reply.send(apis::describe_groups::handle(state, &call, body)),
            Body::ListGroups(body) => reply.send(apis::list_groups::handle(state, &call, body)),
            Body::ApiVersions(body) => reply.send(apis::api_versions::handle(state, &call, body)),
            Body::CreateTopics(body) => reply.send(apis::create_topics::handle(state, &call, body)),
            Body::DeleteTopics(body) => reply.send(apis::delete_topics::handle(state, &call, body)),
            Body::DeleteRecords(body) => reply.send(apis::delete_records::handle(state, &call, body)),
            Body::InitProducerId(body) => reply.send(apis::init_producer_id::handle(state, &call, body)),
            Body::DescribeConfigs(body) => reply.send(apis::describe_configs::handle(state, &call, body)),
            Body::DeleteGroups(body) => reply.send(apis::delete_groups::handle(state, &call, body)),
            Body::AddPartitionsToTxn(body) => reply.send(apis::add_partitions_to_txn::handle(state, &call, body)),
            Body::AddOffsetsToTxn(body) => reply.send(apis::add_offsets_to_txn::handle(state, &call, body)),
            Body::EndTxn(body) => reply.send(apis::end_txn::handle(state, &call, body)),
            Body::TxnOffsetCommit(body) => reply.send(apis::txn_offset_commit::handle(state, &call, body)),
            Body::OffsetForLeaderEpoch(body) => reply.send(apis::offset_for_leader_epoch::handle(state, &call, body)),
            Body::AlterConfigs(body) => reply.send(apis::alter_configs::handle(state, &call, body)),
            Body::CreatePartitions(body) => reply.send(apis::create_partitions::handle(state, &call, body)),
            Body::IncrementalAlterConfigs(body) => {
                reply.send(apis::incremental_alter_configs::handle(state, &call, body))
            }
            Body::DescribeCluster(body) => reply.send(apis::describe_cluster::handle(state, &call, body)),
            Body::DescribeTopicPartitions(body) => {
                reply.send(apis::describe_topic_partitions::handle(state, &call, body))
            }
        })
    }

    /// What becomes of a request that waited for other members.
    pub(super) fn answer_member(&mut self, waiting: &Waiting, answer: Answer) -> Outcome {
        let Waiting { request, .. } = waiting;
        let mut reply = Reply::new(&mut self.faults, request, Vec::new());
        match answer {
            Answer::Join(outcome) => reply.send(apis::join_group::answer(request.version, outcome)),
            Answer::Sync(outcome) => reply.send(apis::sync_group::answer(request.version, outcome)),
        }
    }
}
