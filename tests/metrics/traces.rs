use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, Once};

use bezoar::record::{Header, ProducerRecord};
use bezoar::{Delivery, Event, Failure, Utf8, handler_fn};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::support::Cluster;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The fields of all spans of deliveries, by their ids.
static SPANS: LazyLock<Mutex<BTreeMap<u64, Fields>>> = LazyLock::new(Mutex::default);

#[derive(Debug, Clone, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

/// Collects spans, for the whole process: lanes are threads of their own.
struct Collect;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collect {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if attributes.is_root() {
            fields.0.insert("root", "yes".to_owned());
        }
        SPANS.lock().unwrap().insert(id.into_u64(), fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(SPANS.lock().unwrap().entry(id.into_u64()).or_default());
    }
}

fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let wanted = Targets::new().with_target("bezoar::delivery", Level::DEBUG);
        let subscriber = tracing_subscriber::registry().with(Collect.with_filter(wanted));
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
}

/// The id of the span that is entered, and its name.
fn current() -> (Option<u64>, Option<&'static str>) {
    let span = tracing::Span::current();
    (span.id().map(|id| id.into_u64()), span.metadata().map(|metadata| metadata.name()))
}

/// What a handler or the hook saw.
type Sightings = Arc<Mutex<Vec<(Option<u64>, Option<String>)>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_delivery_runs_in_a_span_that_belongs_to_the_trace_of_its_record() {
    collect();
    let cluster = Cluster::start().await;
    let (group, topic) = (cluster.name("traces"), cluster.topic("traces", 1).await);
    let record = || ProducerRecord::to(topic.as_str()).value("x");
    let traced = record().header("traceparent", PARENT).header("tracestate", "rojo=1");
    cluster.append(&topic, 0, vec![traced, record(), record().header("traceparent", "nonsense")]).await;
    let (hooked, handled): (Sightings, Sightings) = Default::default();
    let (hook, handler) = (Arc::clone(&hooked), Arc::clone(&handled));
    let consumer = cluster
        .lone(&group)
        .on_delivery_span(move |span, context| {
            let parent = context.map(|context| format!("{} {}", context.traceparent(), context.state()));
            hook.lock().unwrap().push((span.id().map(|id| id.into_u64()), parent));
        })
        .topic(
            &topic,
            Utf8,
            handler_fn(move |_: String, delivery: Delivery| {
                let handled = Arc::clone(&handler);
                async move {
                    let before = current();
                    tokio::task::yield_now().await;
                    assert_eq!((current(), before.1), (before, Some("delivery")), "the span goes on after a wait");
                    let parent = delivery.trace_context().map(|context| context.traceparent());
                    handled.lock().unwrap().push((before.0, parent));
                    match delivery.offset() == 1 && delivery.attempt() == 1 {
                        true => Err(Failure::transient("once more")),
                        false => Ok(()),
                    }
                }
            }),
        )
        .start()
        .await
        .unwrap();
    consumer.caught_up().await;
    consumer.shutdown().await.unwrap();
    let (hooked, handled) = (hooked.lock().unwrap().clone(), handled.lock().unwrap().clone());
    let parents: Vec<_> = hooked.iter().map(|(_, parent)| parent.clone()).collect();
    assert_eq!(parents, [Some(format!("{PARENT} rojo=1")), None, None, None]);
    let parents: Vec<_> = handled.iter().map(|(_, parent)| parent.clone()).collect();
    assert_eq!(parents, [Some(PARENT.to_owned()), None, None, None]);
    let ids = |seen: &[(Option<u64>, Option<String>)]| seen.iter().map(|(id, _)| *id).collect::<Vec<_>>();
    assert_eq!(ids(&hooked), ids(&handled));
    // Ids of spans that are closed are used again: so of the last only.
    let spans = SPANS.lock().unwrap().clone();
    let of_topic: Vec<_> = spans.values().filter(|fields| fields.0.get("topic") == Some(&topic)).collect();
    assert!(!of_topic.is_empty());
    for Fields(fields) in of_topic {
        assert_eq!(fields["root"], "yes");
        assert_eq!(fields["partition"], "0");
        assert!(fields.contains_key("offset") && fields.contains_key("attempt"), "{fields:?}");
        let traced = fields["offset"] == "0";
        let ids = ["trace_id", "parent_span_id"].map(|field| fields.get(field).map(String::as_str));
        let expected = [Some("4bf92f3577b34da6a3ce929d0e0e4736"), Some("00f067aa0ba902b7")];
        assert_eq!(ids, if traced { expected } else { [None, None] }, "{fields:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_panics_is_told_and_the_record_handled() {
    collect();
    let cluster = Cluster::embedded().await;
    let (group, topic) = (cluster.name("hook"), cluster.topic("hook", 1).await);
    cluster.values(&topic, 0, ["x"]).await;
    let handler = handler_fn(|_: String, _: Delivery| async { Ok::<(), Failure>(()) });
    let builder = cluster.lone(&group).on_delivery_span(|_, _| panic!("not today"));
    let mut events = builder.events();
    let consumer = builder.topic(&topic, Utf8, handler).start().await.unwrap();
    consumer.caught_up().await;
    assert_eq!((consumer.counts().total.handled, consumer.counts().total.failed), (1, 0));
    consumer.shutdown().await.unwrap();
    let mut told = false;
    while let Some(event) = events.try_next() {
        told |= matches!(&event, Event::HookFailed { hook, message } if *hook == "delivery span" && message.contains("not today"));
    }
    assert!(told);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trace_headers_of_a_dead_letter_are_those_of_its_record_byte_for_byte() {
    let cluster = Cluster::embedded().await;
    let (group, topic) = (cluster.name("kept"), cluster.topic("kept", 1).await);
    let headers = vec![
        Header::new("traceparent", PARENT),
        Header::new("tracestate", " rojo=1 ,congo=2"),
        Header::new("tracestate", &b"\xff\x00"[..]),
        Header::null("traceparent"),
        Header::new("traceparent", "00-nonsense"),
    ];
    let record = ProducerRecord { headers: headers.clone(), ..ProducerRecord::to(topic.as_str()).value("x") };
    cluster.append(&topic, 0, vec![record]).await;
    let handler = handler_fn(|_: String, _: Delivery| async { Err::<(), _>(Failure::validation("bad")) });
    let consumer = cluster.lone(&group).topic(&topic, Utf8, handler).start().await.unwrap();
    consumer.caught_up().await;
    consumer.shutdown().await.unwrap();
    let letters = cluster.broker().records(&format!("{topic}.dlq"), 0).unwrap();
    let kept: Vec<_> = letters[0].headers.iter().filter(|header| header.name.starts_with(b"trace")).collect();
    assert_eq!(kept.len(), headers.len());
    for (kept, header) in kept.into_iter().zip(&headers) {
        assert_eq!(kept, header);
    }
}
