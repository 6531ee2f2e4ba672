//! What members of a classic group tell each other through the coordinator, which does not look into it:
//! `ConsumerProtocolSubscription` and `ConsumerProtocolAssignment`, each behind its version. Later versions only add to the
//! end. What others wrote is read by hand, since a decoder that believes their counts sets memory aside for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicName, consumer_protocol_assignment,
    consumer_protocol_subscription,
};
use kafka_protocol::protocol::{Encodable, StrBytes};

use super::reader::Reader;
use crate::record::TopicPartition;

/// The version written, the latest.
const VERSION: i16 = 3;

/// What a member wants and has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) topics: BTreeSet<String>,
    /// What it owns; nothing where the assignor takes everything from everybody first.
    pub(super) owned: Vec<TopicPartition>,
    /// The generation that it was in last; -1 for none, and where it does not say.
    pub(super) generation: i32,
    pub(super) rack: Option<String>,
}

impl Subscription {
    /// Its bytes; `cooperative` as the cooperative assignor of old clients expects it, which reads the generation from the
    /// user data.
    pub(super) fn encode(&self, cooperative: bool) -> Result<Bytes, String> {
        let owned = by_topic(&self.owned).into_iter().map(|(topic, partitions)| {
            consumer_protocol_subscription::TopicPartition::default().with_topic(topic).with_partitions(partitions)
        });
        let generation = cooperative.then(|| Bytes::copy_from_slice(&self.generation.to_be_bytes()));
        let message = ConsumerProtocolSubscription::default()
            .with_topics(self.topics.iter().cloned().map(StrBytes::from_string).collect())
            .with_user_data(generation)
            .with_owned_partitions(owned.collect())
            .with_generation_id(self.generation)
            .with_rack_id(self.rack.clone().map(StrBytes::from_string));
        encode(&message)
    }

    /// Reads one of any version and client.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut reader = Reader::new(bytes);
        let version = version(&mut reader)?;
        let mut topics = BTreeSet::new();
        for _ in 0..reader.count()? {
            topics.insert(reader.text()?.to_owned());
        }
        let user_data = reader.blob()?;
        let owned = if version >= 1 { partitions(&mut reader)? } else { Vec::new() };
        let generation = if version >= 2 { reader.i32()? } else { -1 };
        let rack = if version >= 3 { reader.nullable_text()?.map(str::to_owned) } else { None };
        let mut subscription = Self { topics, owned, generation, rack };
        if generation < 0 {
            subscription.take_user_data(version, user_data);
        }
        Ok(subscription)
    }

    /// Old clients tell their generation in the user data, alone or behind what they own. Of other assignors' user data
    /// nothing is known, so what does not read well says nothing.
    fn take_user_data(&mut self, version: i16, user_data: &[u8]) {
        if let Ok(generation) = <[u8; 4]>::try_from(user_data) {
            self.generation = i32::from_be_bytes(generation);
            return;
        }
        let mut reader = Reader::new(user_data);
        let Ok(owned) = partitions(&mut reader) else { return };
        if version == 0 {
            self.owned = owned;
        }
        self.generation = reader.i32().unwrap_or(-1);
    }
}

/// The bytes of what a member is assigned.
pub(super) fn encode_assignment(assigned: &[TopicPartition]) -> Result<Bytes, String> {
    let topics = by_topic(assigned).into_iter().map(|(topic, partitions)| {
        consumer_protocol_assignment::TopicPartition::default().with_topic(topic).with_partitions(partitions)
    });
    encode(&ConsumerProtocolAssignment::default().with_assigned_partitions(topics.collect()))
}

/// What a member is assigned; no bytes are nothing.
pub(super) fn decode_assignment(bytes: &[u8]) -> Result<Vec<TopicPartition>, String> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = Reader::new(bytes);
    version(&mut reader)?;
    partitions(&mut reader)
}

fn version(reader: &mut Reader<'_>) -> Result<i16, String> {
    match reader.i16()? {
        version if version < 0 => Err(format!("version {version}")),
        version => Ok(version),
    }
}

fn partitions(reader: &mut Reader<'_>) -> Result<Vec<TopicPartition>, String> {
    let mut partitions = Vec::new();
    for _ in 0..reader.count()? {
        let topic: Arc<str> = reader.text()?.into();
        for _ in 0..reader.count()? {
            partitions.push(TopicPartition::new(Arc::clone(&topic), reader.i32()?));
        }
    }
    Ok(partitions)
}

fn by_topic(partitions: &[TopicPartition]) -> BTreeMap<TopicName, Vec<i32>> {
    let mut topics: BTreeMap<TopicName, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        let name = TopicName(StrBytes::from_string(partition.topic().to_owned()));
        topics.entry(name).or_default().push(partition.partition());
    }
    topics.values_mut().for_each(|numbers| numbers.sort_unstable());
    topics
}

fn encode(message: &impl Encodable) -> Result<Bytes, String> {
    let mut bytes = BytesMut::new();
    bytes.put_i16(VERSION);
    message.encode(&mut bytes, VERSION).map_err(|error| error.to_string())?;
    Ok(bytes.freeze())
}

#[cfg(test)]
mod tests;
