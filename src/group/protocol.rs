use super::settings::GroupProtocol;
use crate::broker::{Admin, BrokerError, ErrorCode, Membership};

/// Which protocol to speak where none is forced: that of KIP-848 if the brokers offer it, unless the group has members that
/// speak the classic one.
pub(super) async fn choose(
    admin: &dyn Admin,
    membership: &dyn Membership,
    group: &str,
) -> Result<GroupProtocol, BrokerError> {
    match membership.offers_consumer_protocol(group.to_owned()).await {
        Ok(true) => {}
        Ok(false) | Err(BrokerError::Unsupported { .. }) => return Ok(GroupProtocol::Classic),
        Err(error) => return Err(error),
    }
    match admin.describe_group(group.to_owned()).await {
        Ok(found) if !found.is_modern && !found.members.is_empty() => Ok(GroupProtocol::Classic),
        Err(error) if error.is_retriable() => Err(error),
        // There is none, or the brokers don't tell this client: joining shows.
        Ok(_) | Err(_) => Ok(GroupProtocol::Consumer),
    }
}

/// Whether a group cannot be joined by KIP-848's protocol, but perhaps by the classic one: the brokers refuse the former, or
/// have a classic group that they do not convert.
pub(super) fn is_for_classic_only(error: &BrokerError) -> bool {
    matches!(
        error.code(),
        Some(ErrorCode::UNSUPPORTED_VERSION | ErrorCode::GROUP_ID_NOT_FOUND | ErrorCode::INCONSISTENT_GROUP_PROTOCOL)
    )
}
