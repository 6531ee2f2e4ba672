use crate::broker::{BrokerError, ErrorCode};
use crate::group::settings::GroupSettings;

/// `INVALID_REQUEST`.
const INVALID_REQUEST: ErrorCode = ErrorCode(42);
/// `UNKNOWN_SERVER_ERROR`.
const UNKNOWN_SERVER_ERROR: ErrorCode = ErrorCode(-1);

/// What follows from a heartbeat that did not succeed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Another attempt, after a pause.
    Retry(String),
    /// The coordinator has gone on without this member: it has nothing any more, and joins anew. `forgotten`: the coordinator
    /// does not even know it.
    Fenced { forgotten: bool },
    /// It cannot be a member, for this reason.
    Fatal(String),
}

impl Verdict {
    /// Judges the error of a heartbeat; `joined`: its sender had been let in before.
    pub(super) fn of(settings: &GroupSettings, joined: bool, error: &BrokerError) -> Self {
        let Some(code) = error.code() else {
            // An answer nobody can read is as good as none. What is refused before the group is asked (a password, a
            // certificate) may be put right while the membership lasts.
            let unheard = error.is_retriable() || matches!(error, BrokerError::Malformed { .. });
            return if unheard || joined { Self::Retry(error.to_string()) } else { Self::Fatal(error.to_string()) };
        };
        let group = &settings.group;
        // What the code means in general would mislead where it is said what it means here.
        let said = match error {
            BrokerError::Response { message: Some(message), .. } => format!("{code}: {message}"),
            _ => code.to_string(),
        };
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID => Self::Fenced { forgotten: true },
            // The whole group is gone: its last member had expired.
            ErrorCode::GROUP_ID_NOT_FOUND if joined => Self::Fenced { forgotten: true },
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::STALE_MEMBER_EPOCH => Self::Fenced { forgotten: false },
            ErrorCode::UNRELEASED_INSTANCE_ID => Self::Retry(format!(
                "another consumer is in group {group} with the instance id {}: this one waits until it leaves or its session \
                 expires; if both are meant to run, give each an instance id of its own",
                settings.instance_id.as_deref().unwrap_or_default(),
            )),
            ErrorCode::FENCED_INSTANCE_ID => Self::Fatal(format!(
                "another consumer has joined group {group} with the instance id {} and taken this one's place: stop one of \
                 them, or give each an instance id of its own ({said})",
                settings.instance_id.as_deref().unwrap_or_default(),
            )),
            ErrorCode::UNSUPPORTED_ASSIGNOR => Self::Fatal(format!(
                "the brokers have no assignor {:?}: name one of theirs (group.consumer.assignors), or leave the choice to \
                 them ({said})",
                settings.server_assignor.as_deref().unwrap_or_default(),
            )),
            ErrorCode::GROUP_ID_NOT_FOUND | ErrorCode::INCONSISTENT_GROUP_PROTOCOL => Self::Fatal(format!(
                "group id {group} is in use with the other protocol, the classic one: use the protocol classic or auto, \
                 another group id, or stop the members that it has first ({said})",
            )),
            ErrorCode::UNSUPPORTED_VERSION => Self::Fatal(format!(
                "the brokers do not let consumers into group {group} by the protocol of KIP-848: use the protocol classic or \
                 auto, or switch it on (Kafka 3.7 and later; group.coordinator.rebalance.protocols) ({said})",
            )),
            ErrorCode::GROUP_MAX_SIZE_REACHED => Self::Fatal(format!(
                "group {group} is full: stop a member, or raise the brokers' group.consumer.max.size ({said})",
            )),
            INVALID_REQUEST => Self::Fatal(format!(
                "the coordinator of group {group} does not accept this member's heartbeat, which may be for one of its \
                 settings (group, instance id, rack): {error}",
            )),
            code if code.is_authorization() => Self::Fatal(error.to_string()),
            // The broker failed at something, perhaps not for ever.
            UNKNOWN_SERVER_ERROR => Self::Retry(error.to_string()),
            code if code.is_retriable() => Self::Retry(error.to_string()),
            _ => Self::Fatal(error.to_string()),
        }
    }
}
