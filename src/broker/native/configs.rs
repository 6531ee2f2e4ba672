use kafka_protocol::messages::describe_configs_request::{DescribeConfigsRequest, DescribeConfigsResource};
use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};

use super::call::{Call, Failed};
use super::cluster::Cluster;
use super::offsets::text;
use crate::broker::{BrokerError, ConfigChange, ConfigEntry};

/// The number of topics among the kinds of resources that have configurations.
const TOPIC: i8 = 2;
/// The source of an entry that was set for the topic itself.
const OF_THE_TOPIC: i8 = 1;
/// The number of setting an entry among the ways of altering it.
const SET: i8 = 0;
/// The number of deleting an entry.
const DELETE: i8 = 1;

/// The configuration of a topic, or one entry of it.
pub(super) async fn describe(
    cluster: &Cluster,
    call: &Call,
    topic: &str,
    entry: Option<&str>,
) -> Result<Vec<ConfigEntry>, BrokerError> {
    call.retry(async || {
        let resource = DescribeConfigsResource::default()
            .with_resource_type(TOPIC)
            .with_resource_name(text(topic))
            .with_configuration_keys(entry.map(|entry| vec![text(entry)]));
        let request = DescribeConfigsRequest::default().with_resources(vec![resource]);
        let answer = cluster.any(call).await?.call(call, |_| request).await?;
        let found = answer.results.first().ok_or_else(|| call.malformed("the topic is missing"))?;
        if found.error_code != 0 {
            let message = found.error_message.as_ref().map(|text| text.to_string());
            // That the topic is unknown is retriable in Kafka's eyes, but the caller wants to know it at once.
            return Err(Failed::ForGood(call.response(found.error_code, message)));
        }
        let entries = found.configs.iter().map(|config| ConfigEntry {
            name: config.name.to_string(),
            value: config.value.as_ref().map(|value| value.to_string()),
            is_own: config.config_source == OF_THE_TOPIC,
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    })
    .await
}

/// Changes entries of a topic's configuration. Setting and deleting twice is as good as once.
pub(super) async fn alter(
    cluster: &Cluster,
    call: &Call,
    topic: &str,
    changes: &[ConfigChange],
) -> Result<(), BrokerError> {
    call.retry(async || {
        let changes = changes.iter().map(|change| {
            let (name, value, operation) = match change {
                ConfigChange::Set { name, value } => (name, Some(text(value)), SET),
                ConfigChange::Delete { name } => (name, None, DELETE),
            };
            AlterableConfig::default().with_name(text(name)).with_value(value).with_config_operation(operation)
        });
        let resource = AlterConfigsResource::default()
            .with_resource_type(TOPIC)
            .with_resource_name(text(topic))
            .with_configs(changes.collect());
        let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
        let answer = cluster.any(call).await?.call(call, |_| request).await?;
        let found = answer.responses.first().ok_or_else(|| call.malformed("the topic is missing"))?;
        let message = found.error_message.as_ref().map(|text| text.to_string());
        match found.error_code {
            0 => Ok(()),
            code => Err(Failed::ForGood(call.response(code, message))),
        }
    })
    .await
}
