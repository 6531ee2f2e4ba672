use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;

use super::connection::ConnectionArgs;
use super::exit::{CliError, Exit};
use super::output::{Column, Out, Table, count, note, thousands};
use super::select::fits;
use crate::broker::{BrokerError, ErrorCode, GroupDescription, OffsetSpec, Ports};
use crate::record::TopicPartition;

/// `bezoar lag`.
#[derive(Debug, Args)]
#[command(after_help = "\
Partitions are shown for which the group has committed an offset, or which one of its members has.

Examples:
  bezoar lag fulfilment
  bezoar lag fulfilment --topic orders --output json")]
pub(super) struct LagArgs {
    /// The consumer group
    group: String,

    /// Only topics that fit one of these patterns, in which * stands for any text [default: all]
    #[arg(long, value_name = "PATTERN")]
    topic: Vec<String>,
}

/// How far a group is in one partition.
#[derive(Debug, Serialize)]
struct PartitionLag<'a> {
    group: &'a str,
    state: &'a str,
    topic: String,
    partition: i32,
    committed: Option<i64>,
    end: i64,
    lag: Option<i64>,
    member: Option<&'a str>,
    client_id: Option<&'a str>,
    host: Option<&'a str>,
}

pub(super) async fn run(args: &LagArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let ports = connection.ports().await?;
    let group = ports.admin.describe_group(args.group.clone()).await.map_err(|error| missing(error, &args.group))?;
    let partitions = partitions(&ports, &args.topic).await?;
    let lags = lags(&ports, &group, partitions).await?;
    if lags.is_empty() {
        return Err(CliError::nothing(format!(
            "group {:?} ({}) has committed no offset of these topics, and none of its members has one of their partitions",
            args.group, group.state
        )));
    }
    let (known, behind) =
        lags.iter().filter_map(|lag| lag.lag).fold((0, 0), |(known, sum), lag| (known + 1, sum + lag));
    if out.is_json() {
        for lag in &lags {
            out.json(lag)?;
        }
    } else {
        out.table(table(&lags))?;
    }
    out.flush()?;
    let unknown = lags.len() as u64 - known;
    let without = if unknown == 0 {
        String::new()
    } else {
        format!("; nothing committed yet for {}", count(unknown, "partition"))
    };
    let behind = count(u64::try_from(behind).unwrap_or(0), "record");
    note(&format!("group {} is {} and {behind} behind{without}", args.group, group.state));
    Ok(Exit::Done)
}

fn missing(error: BrokerError, group: &str) -> CliError {
    match error.code() {
        Some(ErrorCode::GROUP_ID_NOT_FOUND) => {
            CliError::nothing(format!("there is no group {group:?}: check its name"))
        }
        _ => error.into(),
    }
}

/// All partitions of the topics that are meant.
async fn partitions(ports: &Ports, patterns: &[String]) -> Result<Vec<TopicPartition>, CliError> {
    let mut names = ports.admin.list_topics().await?;
    names.retain(|name| {
        patterns.is_empty() && !name.starts_with("__") || patterns.iter().any(|pattern| fits(pattern, name))
    });
    if names.is_empty() {
        return Err(CliError::nothing("no topic fits"));
    }
    let topics = ports.admin.topics(names).await?;
    let partitions = topics.into_iter().flatten().flat_map(|topic| {
        let name: std::sync::Arc<str> = topic.name.into();
        (0..topic.partitions).map(move |partition| TopicPartition::new(name.clone(), partition))
    });
    Ok(partitions.collect())
}

async fn lags<'a>(
    ports: &Ports,
    group: &'a GroupDescription,
    partitions: Vec<TopicPartition>,
) -> Result<Vec<PartitionLag<'a>>, CliError> {
    let committed = ports.offsets.fetch(group.group.clone(), partitions.clone()).await?;
    let owners: BTreeMap<_, _> = group
        .members
        .iter()
        .flat_map(|member| member.assignment.iter().map(move |partition| (partition.clone(), member)))
        .collect();
    let mut of_group: Vec<_> = partitions
        .into_iter()
        .zip(committed)
        .filter(|(partition, committed)| committed.is_some() || owners.contains_key(partition))
        .collect();
    of_group.sort_by(|(one, _), (other, _)| one.cmp(other));
    let asked = of_group.iter().map(|(partition, _)| (partition.clone(), OffsetSpec::Latest)).collect();
    let ends = ports.admin.offsets(asked).await?;
    let lags = of_group.into_iter().zip(ends).map(|((partition, committed), end)| {
        let committed = committed.map(|committed| committed.offset);
        let owner = owners.get(&partition);
        PartitionLag {
            group: &group.group,
            state: &group.state,
            topic: partition.topic().to_owned(),
            partition: partition.partition(),
            committed,
            end,
            lag: committed.map(|committed| end.saturating_sub(committed).max(0)),
            member: owner.map(|member| member.id.as_str()),
            client_id: owner.map(|member| member.client_id.as_str()),
            host: owner.map(|member| member.host.as_str()),
        }
    });
    Ok(lags.collect())
}

fn table(lags: &[PartitionLag<'_>]) -> Table {
    let mut table = Table::new(&[
        Column::Whole("TOPIC"),
        Column::Number("PARTITION"),
        Column::Number("COMMITTED"),
        Column::Number("END"),
        Column::Number("LAG"),
        Column::Cut("CLIENT"),
        Column::Cut("HOST"),
    ]);
    for lag in lags {
        table.row([
            lag.topic.clone(),
            lag.partition.to_string(),
            lag.committed.map_or_else(|| "-".to_owned(), |offset| offset.to_string()),
            lag.end.to_string(),
            lag.lag.map_or_else(|| "-".to_owned(), |lag| thousands(lag.unsigned_abs())),
            lag.client_id.unwrap_or("-").to_owned(),
            lag.host.unwrap_or("-").to_owned(),
        ]);
    }
    table
}
