use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;
use uuid::Uuid;

use super::script::settings;
use crate::group::consumer::ConsumerMember;
use crate::record::TopicPartition;

/// A process with a member in it.
pub(super) struct Node {
    pub(super) machine: ConsumerMember,
    /// Which of the processes that this node was; what was meant for an earlier one is lost.
    pub(super) life: u32,
    /// Nothing happens in it before then.
    pub(super) suspended: Instant,
    /// What it processes while its lease holds.
    pub(super) processing: BTreeMap<TopicPartition, Uuid>,
    /// What it has not given up yet, by its own words.
    pub(super) unreleased: BTreeSet<TopicPartition>,
    pub(super) lease: Option<Instant>,
    pub(super) identity: bool,
    /// How often everything was lost: nothing is released any more then.
    pub(super) losses: u64,
    pub(super) under_way: bool,
    /// When it sent its requests.
    pub(super) sent: Vec<Instant>,
}

pub(super) fn node(index: usize, life: u32, seed: u64, now: Instant, is_static: bool) -> Node {
    let mut settings = settings();
    settings.instance_id = is_static.then(|| format!("node-{index}"));
    Node {
        machine: ConsumerMember::new(settings, seed),
        life,
        suspended: now,
        processing: BTreeMap::new(),
        unreleased: BTreeSet::new(),
        lease: None,
        identity: false,
        losses: 0,
        under_way: false,
        sent: Vec::new(),
    }
}
