//! Dead letters that other frameworks wrote: listed with their origin, and replayed to it.

use bezoar::record::{Header, ProducerRecord};
use bezoar::replay::{Convention, Outcome};

use crate::fixture::partition;
use crate::stand::{Stand, options, without_lineage};

const PARTITION: i32 = 1;
const OFFSET: i64 = 4_711;

/// The headers that a framework adds to a record of `source`, and what is known of where it came from.
fn written(source: &str) -> Vec<(Convention, Vec<Header>, &'static str)> {
    let be32 = |number: i32| number.to_be_bytes().to_vec();
    let be64 = |number: i64| number.to_be_bytes().to_vec();
    let text = |name: &'static str, value: &str| Header::new(name, value.to_owned());
    let (place, topic_only) = ("/1/4711", "/?/?");
    let decimal = |topic: &'static str, partition: &'static str, offset: &'static str| {
        vec![text(topic, source), text(partition, "1"), text(offset, "4711")]
    };
    let with = |mut headers: Vec<Header>, more: &[(&'static str, &str)]| {
        headers.extend(more.iter().map(|(name, value)| text(name, value)));
        headers
    };
    vec![
        (
            Convention::Spring,
            vec![
                text("kafka_dlt-original-topic", source),
                Header::new("kafka_dlt-original-partition", be32(PARTITION)),
                Header::new("kafka_dlt-original-offset", be64(OFFSET)),
                text("kafka_dlt-exception-fqcn", "java.lang.IllegalStateException"),
                text("kafka_dlt-exception-message", "boom"),
            ],
            place,
        ),
        (
            Convention::SpringRetry,
            vec![
                text("kafka_original-topic", source),
                Header::new("kafka_original-partition", be32(PARTITION)),
                Header::new("kafka_original-offset", be64(OFFSET)),
                Header::new("retry_topic-attempts", be32(2)),
                text("kafka_exception-message", "boom"),
            ],
            place,
        ),
        (
            Convention::Connect,
            with(
                decimal("__connect.errors.topic", "__connect.errors.partition", "__connect.errors.offset"),
                &[("__connect.errors.stage", "VALUE_CONVERTER"), ("__connect.errors.exception.message", "boom")],
            ),
            place,
        ),
        (
            Convention::Streams,
            with(
                decimal("__streams.errors.topic", "__streams.errors.partition", "__streams.errors.offset"),
                &[("__streams.errors.message", "boom")],
            ),
            place,
        ),
        (
            Convention::SmallRye,
            with(
                decimal("dead-letter-topic", "dead-letter-partition", "dead-letter-offset"),
                &[("dead-letter-reason", "boom")],
            ),
            place,
        ),
        (
            Convention::Karafka,
            with(decimal("source_topic", "source_partition", "source_offset"), &[("source_attempts", "3")]),
            place,
        ),
        (
            Convention::Beavers,
            with(
                decimal("beavers-dlq-origin-topic", "beavers-dlq-origin-partition", "beavers-dlq-origin-offset"),
                &[("beavers-dlq-failure", "boom")],
            ),
            place,
        ),
        (
            Convention::Krafka,
            with(
                decimal(
                    "__krafka.dlq.original.topic",
                    "__krafka.dlq.original.partition",
                    "__krafka.dlq.original.offset",
                ),
                &[("__krafka.dlq.exception.message", "boom")],
            ),
            place,
        ),
        (
            Convention::Kip1191,
            with(
                decimal("__dlq.errors.topic", "__dlq.errors.partition", "__dlq.errors.offset"),
                &[("__dlq.errors.message", "boom"), ("__dlq.errors.delivery.count", "5")],
            ),
            place,
        ),
        (Convention::Watermill, vec![text("topic_poisoned", source), text("reason_poisoned", "boom")], topic_only),
        (Convention::Trendyol, vec![text("x-original-topic", source), text("x-error-message", "boom")], topic_only),
        (Convention::Plain, vec![text("error", "ValueError"), text("source", &format!("{source}/1/4711"))], place),
    ]
}

#[tokio::test]
async fn dead_letters_of_other_frameworks_are_listed_with_their_origin_and_replayed_to_it() {
    let stand = Stand::new(2).await;
    let all = written(&stand.source);
    for (number, (_, headers, _)) in all.iter().enumerate() {
        let mut record =
            ProducerRecord::to("").key("shop-1").value(format!("{{\"id\": {number}}}")).header("user", "1");
        record.headers.extend(headers.iter().cloned());
        stand.fixture.produce(&partition(&stand.dead, 0), vec![record]).await;
    }

    let entries = stand.all().await;
    for (entry, (convention, _, place)) in entries.iter().zip(&all) {
        assert_eq!(entry.letter.convention, *convention);
        assert_eq!(entry.letter.origin.to_string(), format!("{}{place}", stand.source), "{convention}");
        assert_eq!(entry.letter.headers, [Header::new("user", "1")], "{convention}");
        assert_eq!(entry.letter.unreadable, Vec::<String>::new(), "{convention}");
    }
    assert_eq!(entries.len(), all.len());

    let (report, told) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.failed, report.skipped), (all.len() as u64, 0, 0), "{told:?}");
    for ((convention, _, place), (number, entry)) in all.iter().zip(entries.iter().enumerate()) {
        let progress = told.iter().find(|progress| progress.at == entry.at).unwrap();
        let Outcome::Success(sent) = &progress.outcome else { panic!("{convention}: {progress:?}") };
        assert_eq!(sent.partition.topic(), stand.source);
        if *place == "/1/4711" {
            assert_eq!(sent.partition.partition(), PARTITION, "{convention}: the same partition");
        }
        let records = stand.replayed(&stand.source, sent.partition.partition()).await;
        let value = format!("{{\"id\": {number}}}");
        let record = records.iter().find(|record| record.value.as_deref() == Some(value.as_bytes())).unwrap();
        assert_eq!(record.key.as_deref(), Some(&b"shop-1"[..]), "{convention}");
        assert_eq!(without_lineage(&record.headers), [Header::new("user", "1")], "{convention}");
    }
}

#[tokio::test]
async fn json_envelopes_are_listed_with_their_origin_and_replayed_to_it_as_far_as_they_tell() {
    let stand = Stand::new(1).await;
    let source = stand.source.as_str();
    let whole = format!(
        "{{\"original_topic\": \"{source}\", \"original_partition\": 0, \"original_offset\": 7, \"original_key\": \"k\", \
         \"original_value\": {{\"id\": 1, \"total\": 1.10}}, \"error_category\": \"validation\", \"error_type\": \"ValueError\", \
         \"error_message\": \"no\", \"retry_count\": 0}}"
    );
    let simple =
        format!("{{\"original_message\": {{\"id\": 2}}, \"error_type\": \"KeyError\", \"topic\": \"{source}\"}}");
    let opening = "{\"original_message\": {\"id\": 3}, \"error\": \"ValueError: Invalid item quantity\", \"failed_at\": \
                   \"2024-01-15T10:30:00Z\", \"retry_count\": 3, \"consumer_id\": \"orders-consumer-1\", \"stack_trace\": \"\"}";
    for value in [whole.as_str(), simple.as_str(), opening] {
        let record = ProducerRecord::to("").value(value.to_owned());
        stand.fixture.produce(&partition(&stand.dead, 0), vec![record]).await;
    }
    let origins: Vec<String> = stand.all().await.iter().map(|entry| entry.letter.origin.to_string()).collect();
    assert_eq!(origins, [format!("{source}/0/7"), format!("{source}/?/?"), "?/?/?".to_owned()]);

    // The last says no topic: it goes to one that is named and allowed, and nowhere else.
    let (report, _) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.failed, report.skipped), (2, 0, 1));
    let named = options(|options| {
        options.target = Some(source.into());
        options.allowed_targets = vec![source.into()];
    });
    let (report, _) = stand.replay(&named).await;
    assert_eq!((report.success, report.failed), (1, 0));
    let mut values = stand.replayed_values().await;
    values.sort();
    assert_eq!(values, ["{\"id\": 1, \"total\": 1.10}", "{\"id\": 2}", "{\"id\": 3}"]);
}
