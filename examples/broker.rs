//! Runs the embedded broker on its own until Ctrl-C, so that any Kafka client can be pointed at it.
//!
//! ```text
//! cargo run --example broker -- 127.0.0.1:9092
//! kafka-topics.sh --bootstrap-server 127.0.0.1:9092 --create --topic orders --partitions 3
//! ```
//!
//! Without an address it takes any free loopback port. Records are kept in memory and are gone at the end.

use std::error::Error;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};

use bezoar::embedded::Broker;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = match std::env::args().nth(1) {
        Some(text) => text.parse().map_err(|cause| {
            format!("the address '{text}' is not usable ({cause}); give an IP address and a port, e.g. 127.0.0.1:9092")
        })?,
        None => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    };
    let broker = Broker::builder().address(address).start().await?;
    println!(
        "embedded broker on {0}; point clients at it with bootstrap.servers={0}; Ctrl-C stops it",
        broker.bootstrap()
    );
    std::io::stdout().flush()?;
    bezoar::shutdown_signal().await;
    broker.shutdown().await;
    Ok(())
}
