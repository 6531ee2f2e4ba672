//! Bezoar: its source drained by hand (`source`), and the whole framework over its own connections (`native`) and over
//! rskafka (`rskafka`).

mod framework;
mod produce;
mod source;

use bezoar::broker::{ConnectionSettings, Plane};
use bezoar_peers::Result;
use bezoar_peers::job::Job;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let job = Job::from_args()?;
    let plane = if job.form == "rskafka" { Plane::Rskafka } else { Plane::Native };
    if matches!((job.form.as_str(), job.name.as_str()), ("native" | "rskafka", "consume")) {
        return framework::consume(&job, plane).await;
    }
    if matches!((job.form.as_str(), job.name.as_str()), ("native" | "rskafka", "typed" | "storm" | "mixed")) {
        return framework::orders(&job, plane).await;
    }
    let ports = plane.connect(ConnectionSettings::new([&job.bootstrap])).await?;
    match (job.form.as_str(), job.name.as_str()) {
        ("source", "consume") => source::consume(&job, ports).await,
        ("source", "typed") => source::typed(&job, ports).await,
        ("source", "produce") => produce::plain(&job, ports).await,
        ("source", "produce-dead") => produce::dead(&job, ports).await,
        _ => Err(job.unknown()),
    }
}
