//! Promise 7: an invalid configuration is an error before anything starts, which names the setting, the value and what
//! would be right; and what a start meets at the broker ends in a stated error.

use std::time::Duration;

use bezoar::broker::security::{Sasl, Security};
use bezoar::broker::{ErrorCode, NewTopic, Plane, ProduceSettings, ReadIsolation};
use bezoar::consumer::{
    ConsumerBuilder, ConsumerSettings, CorruptBatches, Isolation, OffsetReset, RestartPolicy, TopicOptions,
};
use bezoar::dead_letter::{DeadLetterFormat, TopicCreation};
use bezoar::embedded::{Api, Broker, Fault};
use bezoar::policy::{Backoff, Category, DeadLetterTopics, Policies};
use bezoar::record::Record;
use bezoar::{Consumer, ConsumerError, Delivery, Failure, HandlerFactory, Raw, handler_fn};

use crate::support::{Cluster, soon};

fn idle() -> impl HandlerFactory<Handler: bezoar::Handler<Message = Record>> {
    handler_fn(|_: Record, _: Delivery| async { Ok::<(), Failure>(()) })
}

fn requests(broker: &Broker) -> u64 {
    Api::ALL.iter().map(|api| broker.requests(*api)).sum()
}

type Change = Box<dyn Fn(ConsumerBuilder) -> ConsumerBuilder>;

fn change(change: impl Fn(ConsumerBuilder) -> ConsumerBuilder + 'static) -> Change {
    Box::new(change)
}

fn restart(change_policy: impl Fn(&mut RestartPolicy) + 'static) -> Change {
    change(move |builder| {
        let mut policy = RestartPolicy::default();
        change_policy(&mut policy);
        builder.restart(policy)
    })
}

fn creation(change_creation: impl Fn(&mut TopicCreation) + 'static) -> Change {
    change(move |builder| {
        let mut creation = TopicCreation::default();
        change_creation(&mut creation);
        builder.dead_letter_topic_creation(creation)
    })
}

fn produce(change_settings: impl Fn(&mut ProduceSettings) + 'static) -> Change {
    change(move |builder| {
        let mut settings = ProduceSettings::default();
        change_settings(&mut settings);
        builder.produce(settings)
    })
}

fn partitions(listed: &'static [i32]) -> Change {
    let options = TopicOptions::new().partitions(listed.iter().copied());
    change(move |builder| builder.topic_with("refunds", options.clone(), Raw, idle()))
}

/// Each setting that cannot be used: how it is made, and what its error must say: the setting, the value, the remedy.
fn invalid() -> Vec<(Change, [&'static str; 3])> {
    let (zero, day) = (Duration::ZERO, Duration::from_secs(24 * 3600 + 1));
    let second = Duration::from_secs(1);
    let transient = |backoff: Backoff| {
        change(move |b| b.policies(Policies::default().with(Category::Transient, |policy| policy.backoff(backoff))))
    };
    vec![
        (change(|b| b.bootstrap("")), ["bootstrap", "[]", "127.0.0.1:9092"]),
        (change(|b| b.bootstrap("localhost")), ["bootstrap", "\"localhost\"", "host:port"]),
        (change(|b| b.bootstrap("a:1,b:70000")), ["bootstrap", "\"b:70000\"", "host:port"]),
        (change(|b| b.bootstrap("a b:1")), ["bootstrap", "\"a b:1\"", "host:port"]),
        (change(|b| b.client_id(" ")), ["client_id", "\" \"", "give it a text"]),
        (change(|b| b.consumer_id("")), ["consumer_id", "\"\"", "give it a text"]),
        (change(|b| b.consumer_version("")), ["consumer_version", "\"\"", "give it a text"]),
        (change(move |b| b.commit_interval(zero)), ["commit_interval", "0", "1s"]),
        (change(move |b| b.poison_timeout(Some(zero))), ["poison_timeout", "0", "30s"]),
        (change(move |b| b.drain_timeout(day)), ["drain_timeout", "86401s", "30s"]),
        (change(move |b| b.fetch_max_wait(zero)), ["fetch_max_wait", "0", "500ms"]),
        (change(move |b| b.connect_timeout(zero)), ["connect_timeout", "0", "10s"]),
        (change(move |b| b.request_timeout(day)), ["request_timeout", "86401s", "30s"]),
        (
            change(move |b| b.fetch_max_wait(second).request_timeout(second)),
            ["fetch_max_wait", "1s", "request_timeout"],
        ),
        (change(|b| b.isolation(Isolation::Lanes(0))), ["lanes", "0", "between 1 and 1024"]),
        (change(|b| b.start_attempts(0)), ["start_attempts", "0", "between 1 and 1000"]),
        (change(|b| b.feed_bytes(10)), ["feed_bytes", "10", "between 1024"]),
        (change(|b| b.fetch_max_bytes(-1)), ["fetch_max_bytes", "0", "between 1"]),
        (change(|b| b.fetch_max_bytes_per_broker(0)), ["fetch_max_bytes_per_broker", "0", "between 1"]),
        (change(|b| b.fetch_min_bytes(-1)), ["fetch_min_bytes", "0", "between 1"]),
        (change(|b| b.max_decompressed_bytes(1)), ["max_decompressed_bytes", "1", "between 1024"]),
        (change(|b| b.max_request_bytes(1)), ["max_request_bytes", "1", "between 1048576"]),
        (change(move |b| b.metadata_max_age(zero)), ["metadata_max_age", "0", "5m"]),
        (change(move |b| b.reconnect_backoff(zero, second)), ["reconnect_backoff", "0", "50ms"]),
        (produce(move |produce| produce.delivery_timeout = zero), ["producer.delivery_timeout", "0", "2m"]),
        (produce(|produce| produce.batch_bytes = 0), ["producer.batch_bytes", "0", "between 1"]),
        (produce(|produce| produce.buffer_bytes = 0), ["producer.buffer_bytes", "0", "between 1"]),
        (
            produce(move |produce| (produce.linger, produce.delivery_timeout) = (second, second)),
            ["producer.linger", "1s", "delivery_timeout"],
        ),
        (
            change(|b| b.plane(Plane::Rskafka).read_isolation(ReadIsolation::ReadUncommitted)),
            ["read_isolation", "read_uncommitted", "native plane"],
        ),
        (
            change(|b| b.plane(Plane::Rskafka).security(Security::default().sasl(Sasl::plain("user", "secret")))),
            ["security", "set", "native plane"],
        ),
        (
            change(|b| b.plane(Plane::Rskafka).produce(ProduceSettings { batch_bytes: 7, ..Default::default() })),
            ["producer", "set", "native plane"],
        ),
        (
            change(|b| b.plane(Plane::Rskafka).corrupt_batches(CorruptBatches::Stop)),
            ["corrupt_batches", "stop", "native plane"],
        ),
        (
            change(|b| b.security(Security::default().sasl(Sasl::plain("", "secret")))),
            ["security.sasl.username", "\"\"", "name"],
        ),
        (
            change(|b| b.max_unacknowledged_dead_letters(100_001)),
            ["dead_letters.max_unacknowledged", "100001", "between 0 and 100000"],
        ),
        (restart(move |policy| policy.window = zero), ["restart.window", "0", "60s"]),
        (restart(|policy| policy.max_overall = 1_000_001), ["restart.max_overall", "1000001", "between 0"]),
        (restart(|policy| policy.max_per_partition = 1_000_001), ["restart.max_per_partition", "1000001", "between 0"]),
        (
            restart(move |policy| policy.backoff = Backoff::exponential(second, 2.0, zero)),
            ["restart.backoff.cap", "0", "set it to 1s or more"],
        ),
        (creation(move |creation| creation.retention = zero), ["dead_letters.retention", "0", "30days"]),
        (creation(|creation| creation.replication = 0), ["dead_letters.replication", "0", "-1 for the broker's"]),
        (
            creation(|creation| creation.max_message_bytes = Some(1)),
            ["dead_letters.max_message_bytes", "1", "between 1024"],
        ),
        (
            change(|b| b.dead_letter_format(DeadLetterFormat { message_limit: 0, ..DeadLetterFormat::default() })),
            ["dead_letters.message_limit", "0", "1000"],
        ),
        (
            transient(Backoff::exponential(second, 0.5, second)),
            ["policies.transient.backoff.multiplier", "0.5", "set it to 1 or more"],
        ),
        (
            transient(Backoff::linear(second, Duration::from_millis(10))),
            ["policies.transient.backoff.cap", "10ms", "set it to 1s or more"],
        ),
        (
            change(|b| b.policies(Policies::default().with(Category::Poison, |policy| policy.retries(2_000_000)))),
            ["policies.poison.retries", "2000000", "1000000 or less"],
        ),
        (change(|b| b.topic("orders", Raw, idle())), ["topics", "\"orders\"", "each topic once"]),
        (change(|b| b.topic("no topic", Raw, idle())), ["topics", "\"no topic\"", "as Kafka has it"]),
        (change(|b| b.topic("", Raw, idle())), ["topics", "\"\"", "as Kafka has it"]),
        (partitions(&[]), ["topics.refunds.partitions", "[]", "leave the list out"]),
        (partitions(&[1, 1]), ["topics.refunds.partitions", "1", "each partition once"]),
        (partitions(&[-1]), ["topics.refunds.partitions", "-1", "count from 0"]),
        (
            change(move |b| b.topic_with("refunds", TopicOptions::new().poison_timeout(Some(zero)), Raw, idle())),
            ["topics.refunds.poison_timeout", "0", "switch it off"],
        ),
        (
            change(|b| b.topic("orders.dlq.poison", Raw, idle())),
            ["dead_letter_topics.poison", "\".dlq.poison\"", "a topic of its own"],
        ),
        (
            change(|b| b.dead_letter_topics(DeadLetterTopics::single().suffix(Category::Unknown, ""))),
            ["dead_letter_topics.unknown", "\"\"", "a topic of its own"],
        ),
        (
            change(|b| b.dead_letter_topics(DeadLetterTopics::single().suffix(Category::Unknown, "/dlq"))),
            ["dead_letter_topics.unknown", "\"/dlq\"", "suffix"],
        ),
    ]
}

#[tokio::test]
async fn every_invalid_setting_is_an_error_before_anything_starts() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    for (change, said) in invalid() {
        let builder = Consumer::builder("fulfilment").bootstrap(&broker.bootstrap()).topic("orders", Raw, idle());
        check(change(builder).start().await.map(drop), &said);
    }
    let groups = [("", ["group", "\"\"", "fulfilment"]), ("  ", ["group", "\"  \"", "fulfilment"])];
    for (group, said) in groups {
        let builder = Consumer::builder(group).bootstrap(&broker.bootstrap()).topic("orders", Raw, idle());
        check(builder.start().await.map(drop), &said);
    }
    let without_topics = Consumer::builder("fulfilment").bootstrap(&broker.bootstrap()).start().await;
    check(without_topics.map(drop), &["topics", "[]", ".topic("]);
    assert_eq!(requests(&broker), 0, "the broker was asked before the settings were checked");
    assert_eq!(broker.topics(), ["orders"]);
}

fn check(result: Result<(), ConsumerError>, said: &[&str; 3]) {
    let Err(ConsumerError::Config(error)) = result else { panic!("{said:?}: {result:?}") };
    let shown = error.to_string();
    assert_eq!(error.setting, said[0], "{shown}");
    assert!(error.value.contains(said[1]), "{:?} is not in {shown}", said[1]);
    assert!(error.remedy.contains(said[2]) || error.problem.contains(said[2]), "{:?} is not in {shown}", said[2]);
}

#[test]
fn a_file_with_an_unknown_name_or_a_bad_value_is_refused_by_name() {
    let valid = "group = \"g\"\nbootstrap = [\"127.0.0.1:9092\"]\n";
    let settings = toml::from_str::<ConsumerSettings>(valid).unwrap();
    assert!(Consumer::from_settings(settings).is_ok());
    let unreadable = [
        ("poison_timout = \"3s\"", "poison_timout"),
        ("poison_timeout = 3", "poison_timeout"),
        ("commit_interval = \"soon\"", "\"soon\" is not a duration"),
        ("offset_reset = \"first\"", "unknown variant `first`"),
        ("[policies.transient]\nretires = 3", "retires"),
        ("[policies.transint]\nretries = 3", "transint"),
        ("[dead_letters]\nprofile = \"plain\"", "profile"),
        ("[dead_letter_topics]\npreset = \"one\"", "unknown variant `one`"),
        ("[restart]\nmax = 3", "max"),
    ];
    for (text, said) in unreadable {
        let error = toml::from_str::<ConsumerSettings>(&format!("{valid}{text}")).unwrap_err().to_string();
        assert!(error.contains(said), "{said:?} is not in {error}");
    }
    let refused = [
        ("[policies.transient]\nretries = 1000001", "policies.transient.retries = 1000001"),
        ("[policies.dependency]\nbackoff = { multiplier = 3.0 }", "policies.dependency.backoff.multiplier"),
        ("[dead_letter_topics]\nunknown = \"\"", "dead_letter_topics.unknown = \"\""),
    ];
    for (text, said) in refused {
        let settings = toml::from_str::<ConsumerSettings>(&format!("{valid}{text}")).unwrap();
        let error = Consumer::from_settings(settings).unwrap_err().to_string();
        assert!(error.contains(said), "{said:?} is not in {error}");
    }
}

#[tokio::test]
async fn an_unreachable_broker_ends_the_start_after_the_stated_tries() {
    // A port that was free a moment ago, so that nobody listens there.
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let builder = Consumer::builder("fulfilment").bootstrap(&format!("{gone},no-such-host.invalid:9092"));
    let started = builder.start_attempts(2).topic("orders", Raw, idle()).start();
    let error = soon("the start gives up", started).await.map(drop).unwrap_err();
    let ConsumerError::Broker { group, attempts, .. } = &error else { panic!("{error:?}") };
    assert_eq!((group.as_str(), *attempts), ("fulfilment", 2));
    let shown = error.to_string();
    assert!(
        shown.contains(&gone) && shown.contains("no-such-host.invalid:9092") && shown.contains("refused"),
        "{shown}"
    );
}

/// A broker that is down for a moment while the consumer starts is waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_comes_back_is_waited_for_at_start() {
    let cluster = Cluster::embedded().await;
    let topic = cluster.topic("patience", 1).await;
    let dropped = cluster.broker().inject(Fault::on(Api::OffsetFetch).times(2).drop_before_effect());
    let builder = cluster.consumer(&cluster.name("patience"));
    let consumer = soon("the consumer starts", builder.topic(&topic, Raw, idle()).start()).await.unwrap();
    assert!(dropped.fired() >= 1);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_at_the_broker_is_named() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("named", 2).await, cluster.name("named"));
    let builder = || cluster.consumer(&group);
    let missing = cluster.name("missing");
    let error = builder().topic(&missing, Raw, idle()).start().await.map(drop).unwrap_err().to_string();
    assert!(error.contains(&format!("{missing:?} does not exist")) && error.contains("create it"), "{error}");
    assert_eq!(cluster.ports.admin.topics(vec![missing.clone()]).await.unwrap(), [None], "asking has created it");

    let third = TopicOptions::new().partitions([0, 2]);
    let error = builder().topic_with(&topic, third, Raw, idle()).start().await.map(drop).unwrap_err().to_string();
    assert!(error.contains("no partition 2") && error.contains("it has 2"), "{error}");

    let error = builder().offset_reset(OffsetReset::None).topic(&topic, Raw, idle()).start().await;
    let error = error.map(drop).unwrap_err().to_string();
    assert!(error.contains("no valid committed offset") && error.contains("earliest"), "{error}");

    let other = cluster.topic("checked", 3).await;
    let mut creation = TopicCreation::default();
    creation.enabled = false;
    let error = builder().dead_letter_topic_creation(creation).topic(&other, Raw, idle()).start().await;
    let error = error.map(drop).unwrap_err().to_string();
    assert!(error.contains(&format!("\"{other}.dlq\" does not exist")) && error.contains("3 partitions"), "{error}");

    let compacted = NewTopic::new(format!("{other}.dlq"), 1).replication(1).config("cleanup.policy", "compact");
    cluster.create(compacted).await;
    let error = builder().topic(&other, Raw, idle()).start().await.map(drop).unwrap_err().to_string();
    assert!(error.contains("cleanup.policy=compact") && error.contains("use another topic"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letter_topics_are_made_for_keeping_with_the_partitions_of_their_source() {
    let cluster = Cluster::start().await;
    let topic = cluster.topic("kept", 3).await;
    let builder = cluster.consumer(&cluster.name("kept")).dead_letter_topics(DeadLetterTopics::per_category());
    let consumer = builder.topic(&topic, Raw, idle()).start().await.unwrap();
    for category in Category::ALL {
        let name = format!("{topic}.dlq.{category}");
        let metadata = cluster.ports.admin.topics(vec![name.clone()]).await.unwrap().pop().flatten().unwrap();
        assert_eq!(metadata.partitions, 3);
        let config = async |entry: &str| {
            cluster.ports.admin.topic_config(name.clone(), entry.to_owned()).await.unwrap().unwrap()
        };
        assert_eq!(config("cleanup.policy").await, "delete");
        assert_eq!(config("retention.ms").await, (30u64 * 24 * 3600 * 1000).to_string());
        let limit: u32 = config("max.message.bytes").await.parse().unwrap();
        assert!(limit > 1_048_588, "a record of the largest size would not fit with its context: {limit}");
    }
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// Without the right to describe or create, the start says which topic it was about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_missing_ends_the_start_at_once() {
    let cluster = Cluster::embedded().await;
    let topic = cluster.topic("rights", 1).await;
    let refused = cluster.broker().inject(Fault::on(Api::CreateTopics).forever().error(ErrorCode(29)));
    let error = cluster.consumer("rights").topic(&topic, Raw, idle()).start().await.map(drop).unwrap_err().to_string();
    assert!(error.contains("TOPIC_AUTHORIZATION_FAILED") && error.contains(&format!("{topic}.dlq")), "{error}");
    assert_eq!(refused.fired(), 1);
}
