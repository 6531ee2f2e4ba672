//! Bezoar: its source drained by hand (`source`), and the whole framework over its own connections (`native`) and over
//! rskafka (`rskafka`).

mod framework;
mod produce;
mod source;

use bezoar::broker::{ConnectionSettings, Ports, native, rskafka};
use bezoar_peers::Result;
use bezoar_peers::job::Job;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let job = Job::from_args()?;
    let settings = ConnectionSettings::new([&job.bootstrap]);
    let ports: Ports = match job.form.as_str() {
        "rskafka" => rskafka::connect(settings).await?,
        _ => native::connect(settings).await?.ports(),
    };
    match (job.form.as_str(), job.name.as_str()) {
        ("source", "consume") => source::consume(&job, ports).await,
        ("source", "typed") => source::typed(&job, ports).await,
        ("native" | "rskafka", "consume") => framework::consume(&job, ports).await,
        ("native" | "rskafka", "typed" | "storm" | "mixed") => framework::orders(&job, ports).await,
        ("source", "produce") => produce::plain(&job, ports).await,
        ("source", "produce-dead") => produce::dead(&job, ports).await,
        _ => Err(job.unknown()),
    }
}
