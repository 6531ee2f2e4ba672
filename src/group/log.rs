use super::message::GroupNotice;

/// Writes a notice to the log.
pub(super) fn notice(group: &str, notice: &GroupNotice) {
    match notice {
        GroupNotice::Identity(Some(member)) => {
            tracing::debug!(group, member = member.member_id, epoch = member.epoch, "commits carry a new epoch");
        }
        GroupNotice::Identity(None) => tracing::debug!(group, "not a member any more"),
        GroupNotice::Lost { partitions, reason } => {
            tracing::warn!(group, partitions = partitions.len(), "partitions are lost: {reason}");
        }
        GroupNotice::Revoked(partitions) => {
            tracing::info!(group, partitions = partitions.len(), "giving partitions up");
        }
        GroupNotice::Assigned(partitions) => {
            tracing::info!(group, partitions = partitions.len(), "taking partitions");
        }
        GroupNotice::Missing(topics) => tracing::warn!(group, ?topics, "topics that are subscribed to do not exist"),
        GroupNotice::Joined { member, protocol, assignor, partitions } => {
            let (member, epoch, instance_id) = (&member.member_id, member.epoch, member.instance_id.as_deref());
            tracing::info!(group, member, epoch, instance_id, protocol, assignor, partitions, "member of the group");
        }
        // The event that it becomes is logged, with those of other troubles.
        GroupNotice::Troubled(reason) => tracing::debug!(group, "the membership is in trouble: {reason}"),
        GroupNotice::Recovered => tracing::debug!(group, "the membership is out of trouble"),
        GroupNotice::Failed(reason) => tracing::error!(group, "cannot be a member of the group: {reason}"),
    }
}
