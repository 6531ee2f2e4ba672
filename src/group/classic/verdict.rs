use crate::broker::{BrokerError, ErrorCode};
use crate::group::settings::GroupSettings;
use crate::policy::duration::text;

/// What an error means for a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The members are to join again.
    Rebalance,
    /// The group is in another generation.
    Passed,
    /// The coordinator does not know the member id.
    Unknown,
    /// Another member has the instance id, and what to do about it.
    Fenced(String),
    /// It will be so until somebody changes something.
    Fatal(String),
    /// It may go better later.
    Again,
}

pub(super) fn verdict(settings: &GroupSettings, error: &BrokerError) -> Verdict {
    if matches!(error, BrokerError::Unsupported { .. } | BrokerError::Config(_)) {
        return Verdict::Fatal(error.to_string());
    }
    match error.code() {
        Some(ErrorCode::REBALANCE_IN_PROGRESS) => Verdict::Rebalance,
        Some(ErrorCode::ILLEGAL_GENERATION) => Verdict::Passed,
        // A group that is gone knows nobody.
        Some(ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::GROUP_ID_NOT_FOUND) => Verdict::Unknown,
        Some(code) => match explained(settings, error, code) {
            Some(text) if code == ErrorCode::FENCED_INSTANCE_ID => Verdict::Fenced(text),
            Some(text) => Verdict::Fatal(text),
            None => Verdict::Again,
        },
        None => Verdict::Again,
    }
}

/// What was answered, and what to do about it.
fn explained(settings: &GroupSettings, error: &BrokerError, code: ErrorCode) -> Option<String> {
    let remedy = remedy(settings, code)?;
    Some(match (code, error) {
        // What these codes mean in general would say the same once more.
        (
            ErrorCode::INCONSISTENT_GROUP_PROTOCOL | ErrorCode::INVALID_SESSION_TIMEOUT,
            BrokerError::Response { doing, .. },
        ) => format!("{doing}: broker answered {code}: {remedy}"),
        _ => format!("{error}; {remedy}"),
    })
}

/// What to do about an answer that stays the same until somebody changes something.
fn remedy(settings: &GroupSettings, code: ErrorCode) -> Option<String> {
    let group = &settings.group;
    Some(match code {
        ErrorCode::FENCED_INSTANCE_ID => {
            let instance = settings.instance_id.as_deref().unwrap_or_default();
            format!("give each instance an instance id of its own: another one has joined as {instance}")
        }
        ErrorCode::INCONSISTENT_GROUP_PROTOCOL => {
            let names: Vec<&str> = settings.assignors.iter().map(|assignor| assignor.name()).collect();
            format!(
                "none of this instance's assignors ({}) is named by all members of group {group}, or it is no classic consumer group: give all members the same, or choose another group or protocol",
                names.join(", ")
            )
        }
        ErrorCode::INVALID_SESSION_TIMEOUT => format!(
            "session_timeout {} is outside of what the brokers allow (group.min.session.timeout.ms to group.max.session.timeout.ms, 6 s to 30 min by default)",
            text(settings.session_timeout)
        ),
        ErrorCode::GROUP_AUTHORIZATION_FAILED => format!("grant the right to read group {group} (kafka-acls)"),
        ErrorCode::GROUP_MAX_SIZE_REACHED => "run fewer instances, or raise the brokers' group.max.size".to_owned(),
        // INVALID_GROUP_ID.
        ErrorCode(24) => format!("choose another group name than {group:?}"),
        ErrorCode::UNSUPPORTED_VERSION => "choose the other group protocol, or upgrade the brokers".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::settings;
    use super::*;

    fn of(code: ErrorCode) -> Verdict {
        let doing = "joining group shop".to_owned();
        verdict(&settings("a"), &BrokerError::Response { doing, code, message: None })
    }

    #[test]
    fn what_stays_as_it_is_says_what_to_do() {
        for (code, remedy) in [
            (ErrorCode::FENCED_INSTANCE_ID, "instance id of its own"),
            (ErrorCode::INCONSISTENT_GROUP_PROTOCOL, "assignors"),
            (ErrorCode::INVALID_SESSION_TIMEOUT, "group.min.session.timeout.ms"),
            (ErrorCode::GROUP_AUTHORIZATION_FAILED, "grant"),
            (ErrorCode::GROUP_MAX_SIZE_REACHED, "group.max.size"),
            (ErrorCode(24), "another group name"),
            (ErrorCode::UNSUPPORTED_VERSION, "protocol"),
        ] {
            match of(code) {
                Verdict::Fatal(text) | Verdict::Fenced(text) => {
                    assert!(text.contains(remedy) && text.contains("shop"), "{text}")
                }
                other => panic!("{code}: {other:?}"),
            }
        }
    }

    #[test]
    fn nothing_is_said_twice() {
        for (code, once) in [
            (ErrorCode::INVALID_SESSION_TIMEOUT, "group.min.session.timeout.ms"),
            (ErrorCode::INCONSISTENT_GROUP_PROTOCOL, "assignors"),
        ] {
            let Verdict::Fatal(text) = of(code) else { panic!("{code}") };
            assert_eq!(text.matches(once).count(), 1, "{text}");
        }
    }

    #[test]
    fn what_may_go_better_is_tried_again() {
        for code in [14, 15, 16, 7, -1, 999] {
            assert_eq!(of(ErrorCode(code)), Verdict::Again);
        }
        let late = BrokerError::Timeout { doing: "x".into(), after: Duration::from_secs(1) };
        assert_eq!(verdict(&settings("a"), &late), Verdict::Again);
        assert_eq!(of(ErrorCode::REBALANCE_IN_PROGRESS), Verdict::Rebalance);
        assert_eq!(of(ErrorCode::ILLEGAL_GENERATION), Verdict::Passed);
        assert!(matches!(of(ErrorCode::FENCED_INSTANCE_ID), Verdict::Fenced(_)));
        assert_eq!(of(ErrorCode::UNKNOWN_MEMBER_ID), Verdict::Unknown);
        assert_eq!(of(ErrorCode::GROUP_ID_NOT_FOUND), Verdict::Unknown);
    }
}
