use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig, CreateTopicsRequest};
use kafka_protocol::messages::delete_topics_request::{DeleteTopicState, DeleteTopicsRequest};
use kafka_protocol::messages::describe_configs_request::{DescribeConfigsRequest, DescribeConfigsResource};
use kafka_protocol::protocol::StrBytes;

use super::Native;
use super::call::{Call, Failed};
use super::cluster::Cluster;
use super::connection::Connection;
use super::topics::{self, topic_name};
use crate::broker::{Admin, BoxFuture, BrokerError, NewTopic, OffsetSpec, TopicMetadata};
use crate::record::TopicPartition;

/// The number of topics among the kinds of resources that have configurations.
const TOPIC_RESOURCE: i8 = 2;

impl Native {
    /// A call that must end within the request timeout.
    pub(super) fn call(&self, doing: String) -> Call {
        Call::new(doing, self.cluster.settings.request_timeout)
    }
}

impl Admin for Native {
    fn topics(&self, names: Vec<String>) -> BoxFuture<Result<Vec<Option<TopicMetadata>>, BrokerError>> {
        let call = self.call(format!("reading metadata of {}", names.join(", ")));
        self.run(call, |cluster, call| async move { topics::describe(&cluster, &call, &names).await })
    }

    fn create_topic(&self, topic: NewTopic) -> BoxFuture<Result<(), BrokerError>> {
        let call = self.call(format!("creating topic {}", topic.name));
        self.run(call, |cluster, call| async move {
            call.retry(async || create(&cluster, &call, &topic).await).await?;
            // The topic is there; that not every broker shows it yet is no failure of creating it.
            if let Err(error) = topics::wait_until_ready(&cluster, &call, &topic.name).await {
                tracing::debug!(topic = topic.name, %error, "created, but not ready yet");
            }
            Ok(())
        })
    }

    fn delete_topics(&self, names: Vec<String>) -> BoxFuture<Result<(), BrokerError>> {
        let call = self.call(format!("deleting {}", names.join(", ")));
        self.run(call, |cluster, call| async move { call.retry(async || delete(&cluster, &call, &names).await).await })
    }

    fn topic_config(&self, topic: String, entry: String) -> BoxFuture<Result<Option<String>, BrokerError>> {
        let call = self.call(format!("reading {entry} of topic {topic}"));
        self.run(call, |cluster, call| async move {
            call.retry(async || config(&cluster, &call, &topic, &entry).await).await
        })
    }

    fn offset(&self, partition: TopicPartition, spec: OffsetSpec) -> BoxFuture<Result<i64, BrokerError>> {
        self.list_offset(partition, spec)
    }
}

/// A connection to the controller (with KRaft, any broker passes requests on to it).
async fn controller(cluster: &Cluster, call: &Call) -> Result<Arc<Connection>, Failed> {
    let answer = topics::metadata(cluster, call, &[]).await?;
    Ok(cluster.broker(*answer.controller_id, call).await?)
}

/// Sorts the error of a request that must not be sent twice: where it may have taken effect, the caller decides.
fn once(call: &Call, code: i16, message: Option<&StrBytes>) -> Failed {
    let error = call.response(code, message.map(|text| text.to_string()));
    let no_effect = [ResponseError::NotController, ResponseError::ThrottlingQuotaExceeded];
    if no_effect.iter().any(|no_effect| no_effect.code() == code) {
        Failed::ForNow(error)
    } else {
        Failed::ForGood(error)
    }
}

async fn create(cluster: &Cluster, call: &Call, topic: &NewTopic) -> Result<(), Failed> {
    let configs = topic.configs.iter().map(|(name, value)| {
        CreatableTopicConfig::default()
            .with_name(StrBytes::from_string(name.clone()))
            .with_value(Some(StrBytes::from_string(value.clone())))
    });
    let wanted = CreatableTopic::default()
        .with_name(topic_name(&topic.name))
        .with_num_partitions(topic.partitions)
        .with_replication_factor(topic.replication)
        .with_configs(configs.collect());
    let request = CreateTopicsRequest::default().with_topics(vec![wanted]).with_timeout_ms(call.millis_left());
    let answer = controller(cluster, call).await?.call(call, |_| request).await.map_err(Failed::ForGood)?;
    let found = answer.topics.iter().find(|found| *found.name.0 == *topic.name);
    let found = found.ok_or_else(|| call.malformed("the topic is missing"))?;
    match found.error_code {
        0 => Ok(()),
        code => Err(once(call, code, found.error_message.as_ref())),
    }
}

async fn delete(cluster: &Cluster, call: &Call, names: &[String]) -> Result<(), Failed> {
    let millis = call.millis_left();
    let request = |version| {
        let request = DeleteTopicsRequest::default().with_timeout_ms(millis);
        if version >= 6 {
            let topics = names.iter().map(|name| DeleteTopicState::default().with_name(Some(topic_name(name))));
            request.with_topics(topics.collect())
        } else {
            request.with_topic_names(names.iter().map(|name| topic_name(name)).collect())
        }
    };
    let answer = controller(cluster, call).await?.call(call, request).await.map_err(Failed::ForGood)?;
    // Topics that went well stay deleted; the first error is told.
    let Some(failed) = answer.responses.iter().find(|found| found.error_code != 0) else { return Ok(()) };
    let name = failed.name.as_ref().map_or_else(|| "a topic".to_owned(), |name| name.0.to_string());
    Err(once(&call.part(format!("deleting topic {name}")), failed.error_code, failed.error_message.as_ref()))
}

async fn config(cluster: &Cluster, call: &Call, topic: &str, entry: &str) -> Result<Option<String>, Failed> {
    let resource = DescribeConfigsResource::default()
        .with_resource_type(TOPIC_RESOURCE)
        .with_resource_name(StrBytes::from_string(topic.to_owned()))
        .with_configuration_keys(Some(vec![StrBytes::from_string(entry.to_owned())]));
    let request = DescribeConfigsRequest::default().with_resources(vec![resource]);
    let answer = cluster.any(call).await?.call(call, |_| request).await?;
    let found = answer.results.first().ok_or_else(|| call.malformed("the topic is missing"))?;
    if found.error_code != 0 {
        let message = found.error_message.as_ref().map(|text| text.to_string());
        return Err(Failed::ForGood(call.response(found.error_code, message)));
    }
    let value = found.configs.iter().find(|config| *config.name == *entry).and_then(|config| config.value.as_ref());
    Ok(value.map(|value| value.to_string()))
}
