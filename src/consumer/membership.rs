use std::time::Duration;

use serde::Deserialize;

use super::defaults;
use super::validate::in_range;
use crate::group::{Assignor, GroupProtocol, GroupSettings};
use crate::policy::duration::{at_least, at_most, text};
use crate::policy::{ConfigError, valid_topic_name};
use crate::supervisor::COMMIT_TIMEOUT;

/// Who decides which partitions a consumer processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Assignment {
    /// The consumer is a member of its group, which divides the partitions of all topics among its members, and divides them
    /// anew when members come and go.
    #[default]
    Group,
    /// Nobody else: the consumer processes all partitions that its topics have at start, or those that
    /// [`TopicOptions::partitions`](super::TopicOptions::partitions) lists. Offsets are committed under the group's id, but
    /// nothing keeps another instance from processing the same partitions.
    Manual,
}

/// What happens at the start where a topic that is named does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MissingTopics {
    /// The start fails with an error that names it.
    #[default]
    Fail,
    /// The consumer starts without it, says so ([`Event::TopicMissing`](crate::Event::TopicMissing)), and processes it from its
    /// start once it is there. Only with [`Assignment::Group`].
    Wait,
}

/// How often topics may be looked at, at most and at least.
const LEAST_REFRESH: Duration = Duration::from_millis(500);
const MOST_REFRESH: Duration = Duration::from_secs(300);

/// How the consumer is a member of its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MembershipSettings {
    pub(super) protocol: GroupProtocol,
    pub(super) instance_id: Option<String>,
    pub(super) rack: Option<String>,
    pub(super) session_timeout: Duration,
    pub(super) heartbeat_interval: Duration,
    pub(super) rebalance_timeout: Duration,
    pub(super) lease: Option<Duration>,
    pub(super) assignors: Vec<Assignor>,
    pub(super) server_assignor: Option<String>,
    pub(super) missing_topics: MissingTopics,
    pub(super) topic_refresh: Duration,
}

impl Default for MembershipSettings {
    fn default() -> Self {
        Self {
            protocol: GroupProtocol::default(),
            instance_id: None,
            rack: None,
            session_timeout: defaults::session_timeout(),
            heartbeat_interval: defaults::heartbeat_interval(),
            rebalance_timeout: defaults::rebalance_timeout(),
            lease: None,
            assignors: defaults::assignors(),
            server_assignor: None,
            missing_topics: MissingTopics::default(),
            topic_refresh: defaults::topic_refresh(),
        }
    }
}

impl MembershipSettings {
    /// How long records may be dispatched after the sending of the last heartbeat that succeeded.
    ///
    /// Below the session timeout, which with KIP-848 is the broker's, 45 s by default, and not told to us.
    pub(super) fn lease(&self) -> Duration {
        let classic = self.session_timeout / 3 * 2;
        self.lease.unwrap_or(match self.protocol {
            GroupProtocol::Classic => classic,
            GroupProtocol::Consumer => defaults::lease(),
            GroupProtocol::Auto => classic.min(defaults::lease()),
        })
    }

    /// What was set and means nothing in a group of KIP-848, as it would be written.
    fn classic_only(&self) -> Vec<String> {
        let unset = Self::default();
        let mut changed = Vec::new();
        if self.session_timeout != unset.session_timeout {
            changed.push(format!("session_timeout = {}", text(self.session_timeout)));
        }
        if self.heartbeat_interval != unset.heartbeat_interval {
            changed.push(format!("heartbeat_interval = {}", text(self.heartbeat_interval)));
        }
        if self.assignors != unset.assignors {
            let names: Vec<_> = self.assignors.iter().map(|assignor| assignor.name()).collect();
            changed.push(format!("assignors = {}", names.join(", ")));
        }
        changed
    }

    /// What the group actor runs by.
    pub(super) fn resolve(&self, group: &str) -> GroupSettings {
        GroupSettings {
            group: group.to_owned(),
            protocol: self.protocol,
            instance_id: self.instance_id.clone(),
            rack: self.rack.clone(),
            assignors: self.assignors.clone(),
            server_assignor: self.server_assignor.clone(),
            session_timeout: self.session_timeout,
            heartbeat_interval: self.heartbeat_interval,
            rebalance_timeout: self.rebalance_timeout,
            lease: self.lease(),
            classic_only: self.classic_only(),
            refresh: self.topic_refresh,
        }
    }

    /// Checks the settings of a member whose records in flight may take `drain` to finish.
    pub(super) fn check(&self, drain: Duration) -> Result<(), ConfigError> {
        self.names()?;
        self.durations(drain)?;
        self.check_assignors()?;
        match self.protocol {
            GroupProtocol::Classic => self.refuse(
                |heeded| heeded == Heeded::Modern,
                "only applies to the protocol of KIP-848, and group_protocol is \"classic\"",
            ),
            GroupProtocol::Consumer => self.refuse(
                |heeded| heeded == Heeded::Classic,
                "only applies to the classic protocol, and group_protocol is \"consumer\"",
            ),
            GroupProtocol::Auto => Ok(()),
        }
    }

    /// Refuses what only members heed: it must not be taken for done.
    pub(super) fn check_manual(&self) -> Result<(), ConfigError> {
        self.refuse(|_| true, "only applies to members of the group, and assignment is \"manual\"")
    }

    fn refuse(&self, unheeded: impl Fn(Heeded) -> bool, problem: &str) -> Result<(), ConfigError> {
        let mut set = self.set().into_iter().filter(|(_, _, heeded)| unheeded(*heeded));
        let Some((setting, value, _)) = set.next() else { return Ok(()) };
        let others: Vec<&str> = set.map(|(setting, _, _)| setting).collect();
        let remedy = match others.as_slice() {
            [] => "leave it out".to_owned(),
            others => format!("leave it out, and also {}", others.join(", ")),
        };
        Err(ConfigError::new(setting, value, problem, remedy))
    }

    /// The settings that differ from their defaults, with their values and those who heed them.
    fn set(&self) -> Vec<(&'static str, String, Heeded)> {
        use Heeded::{Classic, Everybody, Modern};
        let default = Self::default();
        let named = |name: &Option<String>| name.clone().unwrap_or_default();
        let assignors: Vec<&str> = self.assignors.iter().map(|assignor| assignor.name()).collect();
        let all = [
            (
                "group_protocol",
                format!("{:?}", self.protocol).to_lowercase(),
                Everybody,
                self.protocol != default.protocol,
            ),
            ("instance_id", named(&self.instance_id), Everybody, self.instance_id.is_some()),
            ("rack", named(&self.rack), Everybody, self.rack.is_some()),
            ("session_timeout", text(self.session_timeout), Classic, self.session_timeout != default.session_timeout),
            (
                "heartbeat_interval",
                text(self.heartbeat_interval),
                Classic,
                self.heartbeat_interval != default.heartbeat_interval,
            ),
            (
                "rebalance_timeout",
                text(self.rebalance_timeout),
                Everybody,
                self.rebalance_timeout != default.rebalance_timeout,
            ),
            ("lease", text(self.lease()), Everybody, self.lease.is_some()),
            ("assignors", assignors.join(", "), Classic, self.assignors != default.assignors),
            ("server_assignor", named(&self.server_assignor), Modern, self.server_assignor.is_some()),
            ("missing_topics", "wait".to_owned(), Everybody, self.missing_topics != default.missing_topics),
            ("topic_refresh", text(self.topic_refresh), Everybody, self.topic_refresh != default.topic_refresh),
        ];
        let set = all.into_iter().filter(|(_, _, _, set)| *set);
        set.map(|(setting, value, heeded, _)| (setting, value, heeded)).collect()
    }

    fn names(&self) -> Result<(), ConfigError> {
        if let Some(id) = &self.instance_id
            && valid_topic_name(id).is_err()
        {
            let remedy = "use 1 to 249 ASCII letters, digits, \".\", \"_\" and \"-\", the same after each restart of the \
                          instance, such as \"fulfilment-0\"";
            return Err(ConfigError::new("instance_id", id, "is no instance id", remedy));
        }
        for (setting, name, usual) in
            [("rack", &self.rack, "eu-1a"), ("server_assignor", &self.server_assignor, "range")]
        {
            let Some(name) = name else { continue };
            if name.trim().is_empty() || name.len() > 249 || name.contains(char::is_control) {
                let remedy = format!("give it 1 to 249 characters, such as {usual:?}, or leave it out");
                return Err(ConfigError::new(setting, name, "is no name", remedy));
            }
        }
        Ok(())
    }

    fn durations(&self, drain: Duration) -> Result<(), ConfigError> {
        for (setting, value, usual) in [
            ("session_timeout", self.session_timeout, "45s"),
            ("heartbeat_interval", self.heartbeat_interval, "3s"),
            ("rebalance_timeout", self.rebalance_timeout, "60s"),
            ("lease", self.lease(), "30s"),
        ] {
            in_range(setting, value, usual)?;
        }
        if !(LEAST_REFRESH..=MOST_REFRESH).contains(&self.topic_refresh) {
            let remedy = format!("set it between {} and {}, such as 30s", text(LEAST_REFRESH), text(MOST_REFRESH));
            return Err(ConfigError::new("topic_refresh", text(self.topic_refresh), "is out of range", remedy));
        }
        if drain + COMMIT_TIMEOUT > self.rebalance_timeout {
            let problem = format!(
                "is shorter than drain_timeout ({}) and the {} that the last commit may take: partitions would be given to \
                 others before they are given up",
                text(drain),
                text(COMMIT_TIMEOUT)
            );
            let remedy = format!("set it to {} or more, or drain_timeout to less", at_least(drain + COMMIT_TIMEOUT));
            return Err(ConfigError::new("rebalance_timeout", text(self.rebalance_timeout), problem, remedy));
        }
        if self.protocol == GroupProtocol::Consumer {
            // Heartbeats and sessions are the broker's there.
            return Ok(());
        }
        if self.heartbeat_interval > self.session_timeout / 3 {
            let problem = format!(
                "is more than a third of session_timeout ({}): the loss of one or two heartbeats would end the membership",
                text(self.session_timeout)
            );
            let remedy = format!("set it to {} or less", at_most(self.session_timeout / 3));
            return Err(ConfigError::new("heartbeat_interval", text(self.heartbeat_interval), problem, remedy));
        }
        if self.lease() >= self.session_timeout {
            let problem = format!(
                "is not below session_timeout ({}): records would be handled after their partition was given to another",
                text(self.session_timeout)
            );
            let remedy = format!("set it to {}, say, or leave it out", at_most(self.session_timeout / 3 * 2));
            return Err(ConfigError::new("lease", text(self.lease()), problem, remedy));
        }
        if self.lease() < self.heartbeat_interval * 3 {
            let problem = format!(
                "is less than three times heartbeat_interval ({}): the loss of one or two heartbeats would end it",
                text(self.heartbeat_interval)
            );
            let remedy =
                format!("set it to {} or more, or heartbeat_interval to less", at_least(self.heartbeat_interval * 3));
            return Err(ConfigError::new("lease", text(self.lease()), problem, remedy));
        }
        Ok(())
    }

    fn check_assignors(&self) -> Result<(), ConfigError> {
        let names: Vec<&str> = self.assignors.iter().map(|assignor| assignor.name()).collect();
        let refused = |problem, remedy| Err(ConfigError::new("assignors", &names, problem, remedy));
        let sticky = self.assignors.iter().filter(|assignor| **assignor == Assignor::CooperativeSticky).count();
        if names.is_empty() {
            return refused("is empty", "name at least one, such as \"cooperative-sticky\"");
        }
        if (1..names.len()).any(|at| names[..at].contains(&names[at])) {
            return refused("names one twice", "name each once, the preferred one first");
        }
        if sticky > 0 && names.len() > 1 {
            let problem =
                "mixes \"cooperative-sticky\" with assignors that take all partitions from all members at each change";
            return refused(problem, "name either \"cooperative-sticky\", or \"range\" and \"roundrobin\"");
        }
        Ok(())
    }
}

/// Which members a setting means something to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heeded {
    Everybody,
    Classic,
    Modern,
}

#[cfg(test)]
mod tests;
