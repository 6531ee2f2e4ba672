use std::time::Duration;

use super::defaults;
use super::membership::Assignment;
use super::resolved::Resolved;
use super::subscription::{self, Subscribed};
use super::topic::TopicEntry;
use crate::broker::security::Security;
use crate::broker::{Plane, ProduceSettings, ReadIsolation};
use crate::isolation::Isolation;
use crate::partition::CorruptBatches;
use crate::policy::duration::text;
use crate::policy::{ConfigError, valid_topic_name};

/// Checks everything before anything starts; the first thing that is wrong is the error. Returns what is to be processed.
pub(super) fn validate(settings: &mut Resolved, topics: Vec<TopicEntry>) -> Result<Vec<Subscribed>, ConfigError> {
    if cfg!(panic = "abort") {
        let remedy = "build with panic = \"unwind\", since a panicking handler could not be quarantined otherwise";
        return Err(ConfigError::new("panic", "abort", "ends the process at the first panic", remedy));
    }
    group(&settings.group)?;
    bootstrap(&settings.connection.bootstrap)?;
    named("consumer_id", &settings.consumer_id)?;
    named("consumer_version", &settings.consumer_version)?;
    named("client_id", &settings.connection.client_id)?;
    durations(settings)?;
    counts(settings)?;
    settings.offset_reset.check()?;
    match settings.assignment {
        Assignment::Group => {
            settings.membership.check(settings.drain_timeout)?;
            if settings.offsets_recommit != defaults::offsets_recommit() {
                let problem = "only applies to assignment = \"manual\": a group with members keeps its offsets";
                let value = text(settings.offsets_recommit);
                return Err(ConfigError::new("offsets_recommit", value, problem, "leave it out"));
            }
        }
        Assignment::Manual => settings.membership.check_manual()?,
    }
    plane(settings)?;
    settings.connection.security.validate()?;
    settings.policies.check()?;
    settings.restart.backoff.check("restart.backoff")?;
    settings.rules.check()?;
    settings.format.check()?;
    settings.monitor.check()?;
    let topics = subscription::parse(topics, std::mem::take(&mut settings.topics), settings.assignment)?;
    let names: Vec<&str> = topics.iter().filter_map(Subscribed::name).collect();
    settings.dead_letter_topics.check(&names)?;
    for trusted in &settings.trusted_replays {
        if let Err(problem) = valid_topic_name(trusted) {
            let remedy = "name dead-letter topics as Kafka has them, such as \"orders.dlq\"";
            return Err(ConfigError::new("trusted_replays", trusted, problem, remedy));
        }
    }
    if topics.len() > names.len() {
        subscription::check_dead_letters(&settings.dead_letter_topics)?;
    }
    Ok(topics)
}

fn group(group: &str) -> Result<(), ConfigError> {
    if group.trim().is_empty() {
        let remedy = "name the consumer group under which offsets are committed, such as \"fulfilment\"";
        return Err(ConfigError::new("group", group, "is empty", remedy));
    }
    if group.len() > i16::MAX as usize {
        let shown: String = group.chars().take(40).collect();
        return Err(ConfigError::new("group", shown, "is longer than the protocol allows", "shorten it"));
    }
    Ok(())
}

fn bootstrap(addresses: &[String]) -> Result<(), ConfigError> {
    if addresses.is_empty() {
        let remedy = "give at least one broker address, such as \"127.0.0.1:9092\"";
        return Err(ConfigError::new("bootstrap", addresses, "is empty", remedy));
    }
    for address in addresses {
        let valid = address.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && !host.contains(char::is_whitespace) && port.parse::<u16>().is_ok_and(|port| port > 0)
        });
        if !valid {
            let remedy = "write each address as host:port, such as \"127.0.0.1:9092\"";
            return Err(ConfigError::new("bootstrap", address, "is not host:port", remedy));
        }
    }
    Ok(())
}

fn named(setting: &str, value: &str) -> Result<(), ConfigError> {
    if value.trim().is_empty() {
        return Err(ConfigError::new(setting, value, "is empty", "give it a text, or leave the default"));
    }
    Ok(())
}

/// Longer ones are mistakes in the unit.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Refuses a duration that is next to nothing, or longer than a day; `usual` is one that would do.
pub(super) fn in_range(setting: &str, value: Duration, usual: &str) -> Result<(), ConfigError> {
    if value < Duration::from_millis(1) || value > LONGEST {
        let remedy = format!("set it between 1ms and 24h, such as {usual}");
        return Err(ConfigError::new(setting, text(value), "is out of range", remedy));
    }
    Ok(())
}

fn durations(settings: &Resolved) -> Result<(), ConfigError> {
    let connection = &settings.connection;
    let checked = [
        ("commit_interval", Some(settings.commit_interval), "1s"),
        ("offsets_recommit", Some(settings.offsets_recommit), "1h"),
        ("poison_timeout", settings.poison_timeout, "30s"),
        ("drain_timeout", Some(settings.drain_timeout), "30s"),
        ("fetch_max_wait", Some(connection.fetch_max_wait), "500ms"),
        ("connect_timeout", Some(connection.connect_timeout), "10s"),
        ("metadata_max_age", Some(connection.metadata_max_age), "5m"),
        ("reconnect_backoff", Some(connection.reconnect_backoff), "50ms"),
        ("reconnect_backoff_max", Some(connection.reconnect_backoff_max), "1s"),
        ("producer.delivery_timeout", Some(connection.produce.delivery_timeout), "2m"),
        ("request_timeout", Some(connection.request_timeout), "30s"),
        ("restart.window", Some(settings.restart.window), "60s"),
    ];
    for (setting, value, usual) in checked {
        let Some(value) = value else { continue };
        in_range(setting, value, usual)?;
    }
    if connection.fetch_max_wait >= connection.request_timeout {
        let problem =
            format!("is not below request_timeout ({:?}): every idle fetch would time out", connection.request_timeout);
        let value = text(connection.fetch_max_wait);
        return Err(ConfigError::new("fetch_max_wait", value, problem, "set it to 500ms, say"));
    }
    let retention = settings.creation.retention;
    if retention < Duration::from_secs(1) || retention.as_millis() > i64::MAX as u128 {
        let remedy = "set it to days or weeks, such as 30days";
        return Err(ConfigError::new("dead_letters.retention", text(retention), "is out of range", remedy));
    }
    Ok(())
}

/// What a plane cannot do must not be taken for done.
fn plane(settings: &Resolved) -> Result<(), ConfigError> {
    if settings.plane != Plane::Rskafka {
        return Ok(());
    }
    if cfg!(not(feature = "rskafka")) {
        let remedy = "switch the feature `rskafka` of bezoar on, or leave the default, \"native\"";
        return Err(ConfigError::new("plane", "rskafka", "is not in this build", remedy));
    }
    if settings.connection.security != Security::default() {
        let remedy = "use the native plane: there is neither TLS nor SASL with rskafka";
        return Err(ConfigError::new("security", "set", "cannot be had from the rskafka plane", remedy));
    }
    if settings.connection.produce != ProduceSettings::default() {
        let remedy = "use the native plane, or leave these settings out";
        return Err(ConfigError::new("producer", "set", "only applies to the native plane", remedy));
    }
    if settings.corrupt_batches != CorruptBatches::default() {
        let remedy = "use the native plane, or leave it out: with rskafka a partition always stops at such a batch";
        return Err(ConfigError::new("corrupt_batches", "stop", "only applies to the native plane", remedy));
    }
    if settings.connection.read_isolation != ReadIsolation::default() {
        let remedy = "use the native plane; docs/limits.md says what rskafka does with transactions";
        let value = "read_uncommitted";
        return Err(ConfigError::new("read_isolation", value, "cannot be had from the rskafka plane", remedy));
    }
    Ok(())
}

fn counts(settings: &Resolved) -> Result<(), ConfigError> {
    if let Isolation::Lanes(lanes) = settings.isolation {
        range("lanes", lanes, 1, 1024)?;
    }
    if settings.commit_every == Some(0) {
        let remedy = "set it to 1 or more records, or leave it out to commit by time only";
        return Err(ConfigError::new("commit_every", 0, "would never commit", remedy));
    }
    range("start_attempts", settings.start_attempts as usize, 1, 1_000)?;
    range("feed_bytes", settings.feed_bytes, 1_024, 1 << 31)?;
    range("fetch_max_bytes", usize::try_from(settings.connection.fetch_max_bytes).unwrap_or(0), 1, 1 << 30)?;
    let connection = &settings.connection;
    let per_broker = usize::try_from(connection.fetch_max_bytes_per_broker).unwrap_or(0);
    range("fetch_max_bytes_per_broker", per_broker, 1, 1 << 30)?;
    range("fetch_min_bytes", usize::try_from(connection.fetch_min_bytes).unwrap_or(0), 1, 1 << 30)?;
    range("max_decompressed_bytes", connection.max_decompressed_bytes, 1 << 10, 1 << 31)?;
    range("max_request_bytes", connection.max_request_bytes, 1 << 20, 1 << 31)?;
    range("producer.batch_bytes", connection.produce.batch_bytes, 1, 1 << 30)?;
    range("producer.buffer_bytes", connection.produce.buffer_bytes, 1, 1 << 30)?;
    if connection.produce.linger >= connection.produce.delivery_timeout {
        let problem = "is not below producer.delivery_timeout: no record would ever be sent";
        let value = text(connection.produce.linger);
        return Err(ConfigError::new("producer.linger", value, problem, "set it to 5ms, say, or leave it at 0"));
    }
    range("max_response_bytes", settings.connection.max_response_bytes, 1 << 20, 1 << 31)?;
    range("dead_letters.max_unacknowledged", settings.max_unacknowledged, 0, 100_000)?;
    range("restart.max_per_partition", settings.restart.max_per_partition as usize, 0, 1_000_000)?;
    range("restart.max_overall", settings.restart.max_overall as usize, 0, 1_000_000)?;
    if settings.creation.replication == 0 || settings.creation.replication < -1 {
        let remedy = "set it to 1 or more, or -1 for the broker's default";
        return Err(ConfigError::new(
            "dead_letters.replication",
            settings.creation.replication,
            "is no factor",
            remedy,
        ));
    }
    match settings.creation.max_message_bytes {
        Some(bytes) => range("dead_letters.max_message_bytes", bytes as usize, 1_024, i32::MAX as usize),
        None => Ok(()),
    }
}

fn range(setting: &str, value: usize, least: usize, most: usize) -> Result<(), ConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::new(setting, value, "is out of range", format!("set it between {least} and {most}")))
}
