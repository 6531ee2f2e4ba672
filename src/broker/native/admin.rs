use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_partitions_request::{CreatePartitionsRequest, CreatePartitionsTopic};
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig, CreateTopicsRequest};
use kafka_protocol::messages::delete_topics_request::{DeleteTopicState, DeleteTopicsRequest};
use kafka_protocol::protocol::StrBytes;

use super::Native;
use super::call::{Call, Failed};
use super::cluster::Cluster;
use super::connection::Connection;
use super::refresh::names as some_of;
use super::topics::{self, topic_name};
use super::{configs, delete_records, groups};
use crate::broker::{
    Admin, BoxFuture, BrokerError, ClusterDescription, ConfigChange, ConfigEntry, GroupDescription, ListedGroup,
    NewTopic, OffsetSpec, TopicMetadata,
};
use crate::record::TopicPartition;

impl Native {
    /// A call that must end within the request timeout.
    pub(super) fn call(&self, doing: impl Into<Arc<str>>) -> Call {
        Call::new(doing, self.cluster.settings.request_timeout)
    }
}

impl Admin for Native {
    fn topics(&self, names: Vec<String>) -> BoxFuture<Result<Vec<Option<TopicMetadata>>, BrokerError>> {
        let call = self.call(format!("reading metadata of {}", some_of(&names)));
        self.run(call, |cluster, call| async move { topics::describe(&cluster, &call, &names).await })
    }

    fn create_topic(&self, topic: NewTopic) -> BoxFuture<Result<(), BrokerError>> {
        let call = self.call(format!("creating topic {}", topic.name));
        self.run(call, |cluster, call| async move {
            call.retry(async || create(&cluster, &call, &topic).await).await?;
            // The topic is there; that not every broker shows it yet is no failure of creating it.
            if let Err(error) = topics::wait_until_ready(&cluster, &call, &topic.name, 1).await {
                tracing::debug!(topic = topic.name, %error, "created, but not ready yet");
            }
            Ok(())
        })
    }

    fn delete_topics(&self, names: Vec<String>) -> BoxFuture<Result<(), BrokerError>> {
        let call = self.call(format!("deleting {}", some_of(&names)));
        self.run(call, |cluster, call| async move { call.retry(async || delete(&cluster, &call, &names).await).await })
    }

    fn topic_config(&self, topic: String, entry: String) -> BoxFuture<Result<Option<String>, BrokerError>> {
        let call = self.call(format!("reading {entry} of topic {topic}"));
        self.run(call, |cluster, call| async move {
            let entries = configs::describe(&cluster, &call, &topic, Some(&entry)).await?;
            Ok(entries.into_iter().find(|found| found.name == entry).and_then(|found| found.value))
        })
    }

    fn offset(&self, partition: TopicPartition, spec: OffsetSpec) -> BoxFuture<Result<i64, BrokerError>> {
        let offsets = self.list_offsets(vec![(partition, spec)]);
        // One for each that was asked for.
        Box::pin(async move { Ok(offsets.await?[0]) })
    }

    fn offsets(&self, asked: Vec<(TopicPartition, OffsetSpec)>) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        self.list_offsets(asked)
    }

    fn list_topics(&self) -> BoxFuture<Result<Vec<String>, BrokerError>> {
        self.run(self.call("listing topics"), |cluster, call| async move { topics::list(&cluster, &call).await })
    }

    fn create_partitions(&self, topic: String, total: i32) -> BoxFuture<Result<(), BrokerError>> {
        let call = self.call(format!("giving topic {topic} {total} partitions"));
        self.run(call, move |cluster, call| async move {
            call.retry(async || add_partitions(&cluster, &call, &topic, total).await).await?;
            let total = usize::try_from(total).unwrap_or(0);
            if let Err(error) = topics::wait_until_ready(&cluster, &call, &topic, total).await {
                tracing::debug!(topic, %error, "has more partitions, but not ready yet");
            }
            Ok(())
        })
    }

    fn describe_topic_configs(&self, topic: String) -> BoxFuture<Result<Vec<ConfigEntry>, BrokerError>> {
        let call = self.call(format!("reading the configuration of topic {topic}"));
        self.run(call, |cluster, call| async move { configs::describe(&cluster, &call, &topic, None).await })
    }

    fn alter_topic_configs(&self, topic: String, changes: Vec<ConfigChange>) -> BoxFuture<Result<(), BrokerError>> {
        let call = self.call(format!("changing the configuration of topic {topic}"));
        self.run(call, |cluster, call| async move { configs::alter(&cluster, &call, &topic, &changes).await })
    }

    fn delete_records(&self, partition: TopicPartition, before: i64) -> BoxFuture<Result<i64, BrokerError>> {
        let call = self.call(format!("deleting the records of {partition} below {before}"));
        self.run(
            call,
            move |cluster, call| async move { delete_records::delete(&cluster, &call, &partition, before).await },
        )
    }

    fn describe_cluster(&self) -> BoxFuture<Result<ClusterDescription, BrokerError>> {
        let call = self.call("describing the cluster");
        self.run(call, |cluster, call| async move { topics::describe_cluster(&cluster, &call).await })
    }

    fn list_groups(&self) -> BoxFuture<Result<Vec<ListedGroup>, BrokerError>> {
        self.run(self.call("listing groups"), |cluster, call| async move { groups::list(&cluster, &call).await })
    }

    fn describe_group(&self, group: String) -> BoxFuture<Result<GroupDescription, BrokerError>> {
        let call = self.call(format!("describing group {group}"));
        self.run(call, |cluster, call| async move { groups::describe(&cluster, &call, &group).await })
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

async fn add_partitions(cluster: &Cluster, call: &Call, topic: &str, total: i32) -> Result<(), Failed> {
    let wanted = CreatePartitionsTopic::default().with_name(topic_name(topic)).with_count(total).with_assignments(None);
    let request = CreatePartitionsRequest::default().with_topics(vec![wanted]).with_timeout_ms(call.millis_left());
    let answer = controller(cluster, call).await?.call(call, |_| request).await.map_err(Failed::ForGood)?;
    let found = answer.results.first().ok_or_else(|| call.malformed("the topic is missing"))?;
    match found.error_code {
        0 => Ok(()),
        code => Err(once(call, code, found.error_message.as_ref())),
    }
}
