use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::Args;
use serde::Serialize;

use super::exit::{CliError, Exit};
use super::number;
use super::output::Out;
use crate::broker::NewTopic;
use crate::broker::embedded::{Broker, EmbeddedError};
use crate::consumer::shutdown_signal;
use crate::policy::valid_topic_name;

/// `bezoar broker`.
#[derive(Debug, Args)]
#[command(long_about = "\
Run a broker in memory, for tests and to try things out.

It speaks Kafka's protocol, so that all clients can use it, until Ctrl-C. Records are kept in memory only, and are \
gone at the end. Nothing is deleted by age. There is no access control: whoever reaches the address can read and write.")]
#[command(after_help = "\
Examples:
  bezoar broker --topic orders:3 --topic orders.dlq.poison
  bezoar broker --port 0 --output json")]
pub(super) struct BrokerArgs {
    /// The port to listen on; 0 for any that is free
    #[arg(long, default_value_t = 9092, value_parser = number::whole::<u16>)]
    port: u16,

    /// The address to listen on
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_parser = parse_ip)]
    listen: IpAddr,

    /// The host that clients are told to connect to [default: the address listened on]
    #[arg(long, value_name = "HOST")]
    advertised_host: Option<String>,

    /// Make this topic, with so many partitions (default 1); may be given more than once
    #[arg(long, value_name = "NAME[:PARTITIONS]", value_parser = parse_topic)]
    topic: Vec<NewTopic>,

    /// Make topics when clients ask for them, as far as they allow it
    #[arg(long)]
    auto_create_topics: bool,
}

#[derive(Serialize)]
struct Started<'a> {
    bootstrap: &'a str,
    topics: Vec<String>,
}

pub(super) async fn run(args: &BrokerArgs, out: &mut Out) -> Result<Exit, CliError> {
    let mut builder = Broker::builder().address(SocketAddr::new(args.listen, args.port));
    builder = builder.auto_create_topics(args.auto_create_topics);
    if let Some(host) = &args.advertised_host {
        builder = builder.advertised_host(host);
    }
    // Listens for signals before anybody is told that it runs.
    let mut stop = std::pin::pin!(shutdown_signal());
    let broker = tokio::select! {
        biased;
        () = &mut stop => return Ok(Exit::Done),
        broker = builder.start() => broker.map_err(explain)?,
    };
    for topic in &args.topic {
        broker.create(topic.clone()).map_err(explain)?;
    }
    let (bootstrap, topics) = (broker.bootstrap(), broker.topics());
    if out.is_json() {
        out.json(&Started { bootstrap: &bootstrap, topics })?;
    } else {
        let topics = if topics.is_empty() { String::new() } else { format!("\ntopics: {}", topics.join(", ")) };
        out.text(&format!(
            "broker in memory on {bootstrap}: records are gone at the end; Ctrl-C ends it{topics}\n\n  export \
             BEZOAR_BOOTSTRAP={bootstrap}"
        ))?;
    }
    out.flush()?;
    stop.await;
    broker.shutdown().await;
    Ok(Exit::Done)
}

fn explain(error: EmbeddedError) -> CliError {
    match error {
        EmbeddedError::Bind { address, source } => CliError::failed(format!(
            "the broker cannot listen on {address} ({source}): choose another port with --port (0: any that is free)"
        )),
        _ => CliError::usage(error),
    }
}

fn parse_ip(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "write an IP address of this machine, such as 127.0.0.1, or 0.0.0.0 for all".to_owned())
}

fn parse_topic(text: &str) -> Result<NewTopic, String> {
    let (name, partitions) = match text.rsplit_once(':') {
        Some((name, number)) => {
            let partitions = number.parse().ok().filter(|partitions| *partitions > 0);
            (
                name,
                partitions
                    .ok_or_else(|| format!("{number:?} is no number of partitions: write NAME:3, for example"))?,
            )
        }
        None => (text, 1),
    };
    valid_topic_name(name)?;
    Ok(NewTopic::new(name, partitions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_names_with_a_number() {
        assert_eq!(parse_topic("orders:3"), Ok(NewTopic::new("orders", 3)));
        assert_eq!(parse_topic("orders"), Ok(NewTopic::new("orders", 1)));
        for wrong in ["orders:0", "orders:-1", "orders:x", "", ":3", "a/b"] {
            assert!(parse_topic(wrong).is_err(), "{wrong}");
        }
    }
}
