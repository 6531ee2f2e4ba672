use crate::broker::{BrokerError, ErrorCode, NewTopic, Ports};
use crate::policy::valid_topic_name;
use crate::record::TopicPartition;
use crate::replay::ReplayError;

/// The suffix of the topics that marks live in.
pub(crate) const SUFFIX: &str = ".replays";

/// The topic that the marks of a dead-letter topic live in.
pub(crate) fn marks_topic(dead_letters: &str) -> String {
    format!("{dead_letters}{SUFFIX}")
}

/// How long compaction leaves marks alone, in milliseconds: runs that go on side by side must see each other's claims.
const COMPACTION_LAG: i64 = 3_600_000;

/// Makes the marks topic of a dead-letter topic, or sees that the one there is fit for marks. Returns its partition.
pub(crate) async fn ensure(ports: &Ports, dead_letters: &str) -> Result<TopicPartition, ReplayError> {
    let topic = marks_topic(dead_letters);
    let unfit = |problem: String| ReplayError::MarksTopic { topic: topic.clone(), problem };
    valid_topic_name(&topic).map_err(|problem| unfit(format!("cannot be made: {problem}")))?;
    let found = ports.admin.topics(vec![topic.clone()]).await?.pop().flatten();
    if let Some(found) = found {
        if found.operations.is_some_and(|operations| !operations.may_write()) {
            return Err(unfit("may not be written to: grant Write on it to the user that replays".to_owned()));
        }
        check(ports, &topic).await?;
    } else {
        let new = NewTopic::new(&topic, 1)
            .config("cleanup.policy", "compact")
            .config("message.timestamp.type", "LogAppendTime")
            .config("min.compaction.lag.ms", COMPACTION_LAG.to_string());
        match ports.admin.create_topic(new).await {
            Ok(()) => tracing::info!(topic, dead_letters, "topic for replay marks created"),
            // Another run was faster.
            Err(error) if error.code() == Some(ErrorCode::TOPIC_ALREADY_EXISTS) => check(ports, &topic).await?,
            Err(error) if error.code().is_some_and(|code| code.is_authorization()) => {
                let how = "1 partition, cleanup.policy=compact, message.timestamp.type=LogAppendTime";
                return Err(unfit(format!("cannot be made ({error}): create it ({how}), or grant Create on it")));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(TopicPartition::new(topic, 0))
}

async fn check(ports: &Ports, topic: &str) -> Result<(), ReplayError> {
    let wanted = [
        ("cleanup.policy", "compact", "marks would be deleted after a while, and letters replayed twice"),
        ("message.timestamp.type", "LogAppendTime", "runs on several machines could not tell how old a claim is"),
    ];
    for (entry, wanted, otherwise) in wanted {
        match ports.admin.topic_config(topic.to_owned(), entry.to_owned()).await {
            Ok(Some(value)) if !value.contains(wanted) => {
                let problem = format!("has {entry}={value}, so that {otherwise}: set {entry}={wanted}");
                return Err(ReplayError::MarksTopic { topic: topic.to_owned(), problem });
            }
            Ok(_) => {}
            Err(error) if is_denied(&error) => {
                tracing::warn!(
                    topic,
                    "no right to describe the configuration of the topic for replay marks: not checked"
                );
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn is_denied(error: &BrokerError) -> bool {
    error.code().is_some_and(|code| code.is_authorization())
}
