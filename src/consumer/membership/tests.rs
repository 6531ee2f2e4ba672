use proptest::prelude::*;

use super::*;

const DRAIN: Duration = defaults::drain_timeout();

fn refused(change: impl Fn(&mut MembershipSettings)) -> ConfigError {
    let mut settings = MembershipSettings::default();
    change(&mut settings);
    settings.check(DRAIN).unwrap_err()
}

#[test]
fn the_defaults_fit_together() {
    for protocol in [GroupProtocol::Auto, GroupProtocol::Classic, GroupProtocol::Consumer] {
        let settings = MembershipSettings { protocol, ..MembershipSettings::default() };
        assert_eq!(settings.check(DRAIN), Ok(()), "{protocol:?}");
        assert_eq!(settings.lease(), Duration::from_secs(30));
    }
    assert_eq!(MembershipSettings::default().check_manual(), Ok(()));
}

#[test]
fn what_does_not_fit_together_is_named() {
    let seconds = Duration::from_secs;
    let named = |error: ConfigError, setting: &str, said: &str| {
        assert_eq!(error.setting, setting);
        assert!(error.to_string().contains(said), "{error}");
    };
    named(refused(|it| it.rebalance_timeout = seconds(39)), "rebalance_timeout", "set it to 40s or more");
    named(refused(|it| it.heartbeat_interval = seconds(16)), "heartbeat_interval", "set it to 15s or less");
    named(
        refused(|it| it.session_timeout = Duration::from_millis(8_000)),
        "heartbeat_interval",
        "set it to 2.6s or less",
    );
    named(refused(|it| it.lease = Some(seconds(45))), "lease", "is not below session_timeout (45s)");
    named(refused(|it| it.lease = Some(seconds(8))), "lease", "set it to 9s or more");
    named(refused(|it| it.session_timeout = Duration::ZERO), "session_timeout", "between 1ms and 24h");
    named(refused(|it| it.topic_refresh = seconds(301)), "topic_refresh", "between 500ms and 300s");
    named(refused(|it| it.instance_id = Some("a b".into())), "instance_id", "fulfilment-0");
    named(refused(|it| it.rack = Some(" ".into())), "rack", "eu-1a");
    named(refused(|it| it.server_assignor = Some(String::new())), "server_assignor", "range");
}

#[test]
fn assignors_of_one_kind_may_be_mixed() {
    let with = |assignors: &[Assignor]| {
        let assignors = assignors.to_vec();
        MembershipSettings { assignors, ..MembershipSettings::default() }.check(DRAIN)
    };
    assert_eq!(with(&[Assignor::Range, Assignor::RoundRobin]), Ok(()));
    for wrong in [&[][..], &[Assignor::Range; 2], &[Assignor::CooperativeSticky, Assignor::Range]] {
        assert_eq!(with(wrong).unwrap_err().setting, "assignors");
    }
}

#[test]
fn what_nobody_heeds_is_refused() {
    let default = MembershipSettings::default;
    let setting = |settings: MembershipSettings| settings.check(DRAIN).unwrap_err().setting;
    let (classic, consumer) = (GroupProtocol::Classic, GroupProtocol::Consumer);
    let long = Duration::from_secs(60);
    let session = MembershipSettings { protocol: consumer, session_timeout: long, ..default() };
    assert_eq!(setting(session), "session_timeout");
    let assignors = MembershipSettings { protocol: consumer, assignors: vec![Assignor::Range], ..default() };
    assert_eq!(setting(assignors), "assignors");
    let assignor = MembershipSettings { protocol: classic, server_assignor: Some("range".into()), ..default() };
    assert_eq!(setting(assignor.clone()), "server_assignor");
    assert_eq!(MembershipSettings { protocol: consumer, ..assignor }.check(DRAIN), Ok(()));
    let manual = MembershipSettings { instance_id: Some("a".into()), ..default() };
    assert_eq!(manual.check_manual().unwrap_err().setting, "instance_id");
    let several = MembershipSettings { protocol: classic, session_timeout: long, lease: Some(long), ..manual };
    let error = several.check_manual().unwrap_err().to_string();
    assert!(error.starts_with("group_protocol = \"classic\" only applies to members of the group"), "{error}");
    assert!(error.ends_with("leave it out, and also instance_id, session_timeout, lease"), "{error}");
}

proptest! {
    /// What passes is safe: a member gives up before it could be taken for gone, and long before that it has tried often.
    #[test]
    fn what_passes_is_safe(
        session in 1u64..100_000, heartbeat in 1u64..100_000, rebalance in 1u64..100_000, drain in 1u64..100_000,
        lease in proptest::option::of(1u64..100_000),
    ) {
        let millis = Duration::from_millis;
        let settings = MembershipSettings {
            session_timeout: millis(session),
            heartbeat_interval: millis(heartbeat),
            rebalance_timeout: millis(rebalance),
            lease: lease.map(millis),
            ..MembershipSettings::default()
        };
        if settings.check(millis(drain)).is_ok() {
            let resolved = settings.resolve("group");
            prop_assert!(resolved.lease < resolved.session_timeout);
            prop_assert!(resolved.heartbeat_interval * 3 <= resolved.lease);
            prop_assert!(millis(drain) + COMMIT_TIMEOUT <= resolved.rebalance_timeout);
        }
    }
}
