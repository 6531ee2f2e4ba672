//! Makes and removes topics: `topics create|delete - key=value...`.

use bezoar_peers::Result;
use bezoar_peers::job::{Job, PARTITIONS};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let job = Job::from_args()?;
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", &job.bootstrap).create()?;
    let options = AdminOptions::new();
    let results = match job.form.as_str() {
        "create" => {
            let topic = NewTopic::new(&job.topic, PARTITIONS, TopicReplication::Fixed(1));
            admin.create_topics([&topic], &options).await?
        }
        "delete" => admin.delete_topics(&[&job.topic], &options).await?,
        _ => return Err("usage: topics create|delete - key=value...".into()),
    };
    for result in results {
        result.map_err(|(topic, error)| format!("topic {topic}: {error}"))?;
    }
    Ok(())
}
