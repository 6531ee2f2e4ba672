use std::sync::Arc;

use ractor::{ActorRef, rpc::CallResult};

use super::backtrace::render;
use super::message::{Job, Outcome, Target};
use super::topics::{DeadLetterTopicError, TopicKeeper};
use super::{DeadLetterFormat, Rung};
use crate::broker::{BrokerError, ErrorCode, Produce};
use crate::classifier::{ClassifierMessage, PublishVerdict};
use crate::isolation::guard::Guarded;
use crate::record::TopicPartition;

/// What publishing needs. Shared by the tasks that publish.
pub(crate) struct Publisher {
    pub(crate) produce: Arc<dyn Produce>,
    pub(crate) keeper: Arc<TopicKeeper>,
    pub(crate) format: DeadLetterFormat,
    pub(crate) group: Arc<str>,
    pub(crate) consumer_id: Arc<str>,
    pub(crate) consumer_version: Arc<str>,
}

impl Publisher {
    /// Publishes a batch for one target, in order, and has a failure judged.
    pub(super) async fn publish(
        &self,
        classifier: &ActorRef<ClassifierMessage>,
        target: &Target,
        jobs: &mut [Box<Job>],
        failures: u32,
    ) -> Outcome {
        for job in jobs.iter_mut() {
            self.complete(job);
        }
        // An adapter's panic must not leave the queue waiting for an answer for ever.
        let produced = Guarded::new(self.produce(target, jobs)).await.unwrap_or_else(|report| {
            let doing = format!("publishing dead letters to {}", target.topic);
            Err(BrokerError::Malformed { doing, cause: format!("the adapter panicked: {}", report.message) })
        });
        let error = match produced {
            Ok(Some((partition, offsets))) => return Outcome::Acknowledged { partition, offsets },
            Ok(None) => return Outcome::Withheld,
            Err(error) => error,
        };
        let partition = self.partition(target);
        if error.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) {
            self.keeper.forget(&target.topic);
        }
        let (batch, rung) = (jobs.len(), jobs.first().map_or(Rung::Full, |job| job.rung));
        let judged = classifier.call(
            |reply| ClassifierMessage::JudgePublishing {
                error: error.clone(),
                batch,
                rung,
                failures: failures + 1,
                reply,
            },
            None,
        );
        let verdict = match judged.await {
            Ok(CallResult::Success(verdict)) => verdict,
            // Only while the consumer ends.
            _ => PublishVerdict::Retry(std::time::Duration::from_secs(1)),
        };
        Outcome::Refused { partition, error, verdict }
    }

    /// Fills in what is known here, once.
    fn complete(&self, job: &mut Job) {
        let context = &mut job.context;
        context.group = Some(Arc::clone(&self.group));
        context.consumer_id = Some(Arc::clone(&self.consumer_id));
        context.consumer_version = Some(Arc::clone(&self.consumer_version));
        if let Some(backtrace) = job.backtrace.take() {
            let rendered = render(&backtrace);
            context.backtrace = Some(match context.backtrace.take() {
                Some(before) if !before.is_empty() => format!("{before}\n{rendered}"),
                _ => rendered,
            });
        }
    }

    /// Why dead letters of a target that are under way are not acknowledged yet, where that is known, and where they go.
    pub(super) fn trouble(&self, target: &Target) -> Option<(TopicPartition, BrokerError)> {
        let partition = self.partition(target);
        self.produce.trouble(&partition).map(|error| (partition, error))
    }

    /// Where dead letters of a target go, as far as the topic is known.
    fn partition(&self, target: &Target) -> TopicPartition {
        let partitions = self.keeper.known(&target.topic).unwrap_or(i32::MAX);
        TopicPartition::new(target.topic.as_str(), target.source_partition % partitions.max(1))
    }

    /// Where the batch is, and its offsets; `None` where the records are not this consumer's any more.
    async fn produce(
        &self,
        target: &Target,
        jobs: &[Box<Job>],
    ) -> Result<Option<(TopicPartition, Vec<i64>)>, BrokerError> {
        let source = jobs.first().map_or("", |job| job.context.source.partition.topic());
        let partitions = self.keeper.partitions(source, &target.topic).await.map_err(|error| match error {
            DeadLetterTopicError::Broker(error) => error,
            // An operator can mend it while the consumer runs: it is held, not given up.
            other => BrokerError::Response {
                doing: format!("publishing to dead-letter topic {:?}", target.topic),
                code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                message: Some(other.to_string()),
            },
        })?;
        // As many partitions as the source has, as a rule: then keys keep their partition.
        let partition = TopicPartition::new(target.topic.as_str(), target.source_partition % partitions.max(1));
        let topic = partition.shared_topic();
        let encode = |job: &Job| job.original().encode(&job.context, &self.format, job.rung, Arc::clone(&topic));
        let records = jobs.iter().map(|job| encode(job)).collect();
        // Backtraces, the look at the topic and the encoding have taken their time, in which a lease can end.
        if jobs.iter().any(|job| !job.ownership.is_ours()) {
            return Ok(None);
        }
        let offsets = self.produce.produce(partition.clone(), records).await?;
        if offsets.len() != jobs.len() {
            let cause = format!("{} offsets for {} records", offsets.len(), jobs.len());
            return Err(BrokerError::Malformed { doing: format!("publishing dead letters to {partition}"), cause });
        }
        Ok(Some((partition, offsets)))
    }
}
