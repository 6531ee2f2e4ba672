use clap::Args;
use serde::Serialize;

use super::connection::ConnectionArgs;
use super::exit::{CliError, Exit};
use super::output::{Column, Out, Table, thousands};
use super::select::{fits, is_dead_letter_topic};
use crate::broker::{Admin, OffsetSpec, TopicMetadata};
use crate::record::TopicPartition;

/// `bezoar topics`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bezoar topics
  bezoar topics 'orders*'
  bezoar topics --dead-letters")]
pub(super) struct TopicsArgs {
    /// Only those that fit one of these patterns, in which * stands for any text [default: all]
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,

    /// Only those whose names are those of dead-letter topics: TOPIC.dlq, TOPIC.dlq.*
    #[arg(long)]
    dead_letters: bool,

    /// Kafka's own too, such as __consumer_offsets
    #[arg(long)]
    internal: bool,
}

#[derive(Debug, Serialize)]
struct TopicJson {
    topic: String,
    topic_id: Option<String>,
    partitions: i32,
    records: u64,
    dead_letters: bool,
}

pub(super) async fn run(args: &TopicsArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let ports = connection.ports().await?;
    let mut names = ports.admin.list_topics().await?;
    names.retain(|name| args.wants(name));
    if names.is_empty() {
        let all = args.patterns.is_empty() && !args.dead_letters;
        return Err(CliError::nothing(if all { "there is no topic" } else { "no topic fits" }));
    }
    // One that is deleted meanwhile is none.
    let topics: Vec<TopicMetadata> = ports.admin.topics(names).await?.into_iter().flatten().collect();
    let records = records(&*ports.admin, &topics).await?;
    let rows = topics.into_iter().zip(records).map(|(topic, records)| TopicJson {
        dead_letters: is_dead_letter_topic(&topic.name),
        topic: topic.name,
        topic_id: topic.id.map(|id| id.to_string()),
        partitions: topic.partitions,
        records,
    });
    if out.is_json() {
        for row in rows {
            out.json(&row)?;
        }
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&[Column::Whole("TOPIC"), Column::Number("PARTITIONS"), Column::Number("RECORDS")]);
    for row in rows {
        table.row([row.topic, row.partitions.to_string(), thousands(row.records)]);
    }
    out.table(table)?;
    Ok(Exit::Done)
}

impl TopicsArgs {
    fn wants(&self, name: &str) -> bool {
        (self.internal || !name.starts_with("__"))
            && (!self.dead_letters || is_dead_letter_topic(name))
            && (self.patterns.is_empty() || self.patterns.iter().any(|pattern| fits(pattern, name)))
    }
}

/// How many records each topic holds, at most: offsets that compaction or transactions took count too.
async fn records(admin: &dyn Admin, topics: &[TopicMetadata]) -> Result<Vec<u64>, CliError> {
    let mut asked = Vec::new();
    for topic in topics {
        for partition in 0..topic.partitions {
            let partition = TopicPartition::new(topic.name.as_str(), partition);
            asked.push((partition.clone(), OffsetSpec::Earliest));
            asked.push((partition, OffsetSpec::Latest));
        }
    }
    let offsets = admin.offsets(asked).await?;
    let mut pairs = offsets.chunks_exact(2).map(|pair| u64::try_from(pair[1] - pair[0]).unwrap_or(0));
    Ok(topics.iter().map(|topic| pairs.by_ref().take(topic.partitions.max(0) as usize).sum()).collect())
}
