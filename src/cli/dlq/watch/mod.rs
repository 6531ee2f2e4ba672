//! `bezoar dlq watch`: the monitor of consumers, for topics that others may write.

mod args;
mod news;

use std::collections::HashMap;

pub(in crate::cli) use args::WatchArgs;
use futures_util::FutureExt;
use news::{HealthJson, Here, News, tell};
use tokio::sync::mpsc::channel;

use crate::broker::{BrokerError, Ports};
use crate::cli::connection::ConnectionArgs;
use crate::cli::exit::{CliError, Exit};
use crate::cli::interrupt::{end_at_last, or_interrupted};
use crate::cli::output::time::{age, now};
use crate::cli::output::{Column, Out, Table, note, thousands};
use crate::consumer::shutdown_signal;
use crate::monitor::{Monitor, MonitorSettings, Status, TopicHealth};

pub(super) async fn run(args: &WatchArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let settings = args.settings()?;
    let connecting = async {
        let ports = connection.ports().await?;
        let topics = args.topics.resolve(&*ports.admin).await?;
        Ok((ports, topics))
    };
    let (ports, topics) = or_interrupted(connecting).await?;
    match args.once {
        true => or_interrupted(once(Monitor::new(ports, topics, settings), out)).await,
        // It ends by itself, after its last words.
        false => watch(ports, topics, settings, out).await,
    }
}

async fn once(monitor: Monitor, out: &mut Out) -> Result<Exit, CliError> {
    let found = monitor.check().await?;
    if out.is_json() {
        found.iter().try_for_each(|topic| out.json(&HealthJson::new(topic)))?;
    } else {
        let mut table = Table::new(&[
            Column::Whole("TOPIC"),
            Column::Whole("STATUS"),
            Column::Number("UNRESOLVED"),
            Column::Number("OLDEST"),
        ]);
        for topic in &found {
            let oldest = topic.oldest.map_or_else(|| "-".to_owned(), |oldest| age(now(), oldest));
            table.row([topic.topic.to_string(), topic.status.to_string(), thousands(topic.depth), oldest]);
        }
        out.table(table)?;
    }
    let is_healthy = found.iter().all(|topic| topic.status == Status::Healthy);
    Ok(if is_healthy { Exit::Done } else { Exit::Unhealthy })
}

/// How much news waits for a slow reader.
const WAITING: usize = 256;

async fn watch(ports: Ports, topics: Vec<String>, settings: MonitorSettings, out: &mut Out) -> Result<Exit, CliError> {
    // Listens for signals before anybody is told of them.
    let mut stop = Box::pin(shutdown_signal());
    if stop.as_mut().now_or_never().is_some() {
        return Ok(Exit::Done);
    }
    end_at_last();
    note(&format!("watching {}; Ctrl-C ends it", topics.join(", ")));
    let (news, mut coming) = channel(WAITING);
    let monitor = Monitor::new(ports, topics, settings.sink(Here(news.clone())));
    // In a task of its own: webhooks are told whether or not somebody reads here.
    let watching = tokio::spawn(async move {
        let told = |found: Result<&[TopicHealth], &BrokerError>| match found {
            Ok(found) => News::Found(found.to_vec()),
            Err(error) => News::Trouble(format!("not all topics can be looked at, trying again: {error}")),
        };
        // Where nobody listens any more, the command ends; where nobody reads, looks are left out.
        monitor.watch_until(stop, |found| drop(news.try_send(told(found)))).await;
    });
    let telling = async {
        let mut shown = HashMap::new();
        while let Some(news) = coming.recv().await {
            tell(news, &mut shown, out)?;
            out.flush()?;
        }
        Ok(Exit::Done)
    };
    // All senders are in the first one.
    let mut watching = std::pin::pin!(watching);
    let mut telling = std::pin::pin!(telling);
    tokio::select! {
        _ = &mut watching => {}
        ended = &mut telling => return ended,
    }
    telling.await
}
