use std::sync::Arc;

use tracing::field::{Empty, display};
use tracing::level_filters::LevelFilter;
use tracing::{Level, Span};

use super::context::Hooks;
use crate::event::{Event, Events};
use crate::isolation::guard::guarded;
use crate::record::{Record, TraceContext};

/// Told of each delivery's span, and of the context that came with the record.
pub(crate) type SpanHook = Arc<dyn Fn(&Span, Option<&TraceContext>) + Send + Sync>;

/// The span of a delivery, if anybody wants it; otherwise this costs a look at one word. Boxed, since each delivery would carry
/// the room for it through its future.
#[inline]
pub(super) fn span(user: (&Hooks, &Events), record: &Record, attempt: u32) -> Option<Box<Span>> {
    if LevelFilter::current() < Level::DEBUG { None } else { make(user, record, attempt) }
}

/// It is no child of whatever span is entered: its parent, if any, is in another process.
#[cold]
fn make(user: (&Hooks, &Events), record: &Record, attempt: u32) -> Option<Box<Span>> {
    let span = tracing::debug_span!(
        target: "bezoar::delivery", parent: None, "delivery",
        topic = record.partition().topic(), partition = record.partition().partition(), offset = record.offset(),
        attempt, trace_id = Empty, parent_span_id = Empty
    );
    if span.is_disabled() {
        return None;
    }
    place(user, &span, record);
    Some(Box::new(span))
}

/// Says where the span belongs: in its fields, and to the user's hook.
fn place((hooks, events): (&Hooks, &Events), span: &Span, record: &Record) {
    let context = TraceContext::of(record.headers());
    if let Some(context) = &context {
        span.record("trace_id", display(context.trace_id()));
        span.record("parent_span_id", display(context.span_id()));
    }
    if let Some(hook) = &hooks.span
        && let Err(report) = guarded(|| hook(span, context.as_ref()))
    {
        events.emit(Event::HookFailed { hook: "delivery span", message: report.message });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::record::{HeaderRef, RecordBatchBuilder, TopicPartition};

    #[test]
    fn there_is_a_span_where_a_subscriber_wants_it_and_none_elsewhere() {
        let mut batch = RecordBatchBuilder::new(TopicPartition::new("orders", 0), None);
        let parent: &[u8] = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        batch.push(7, 0, None, None, [HeaderRef { name: b"traceparent", value: Some(parent) }].into_iter());
        let record = batch.build(8).iter().next().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let hook = Arc::clone(&seen);
        let hooks = Hooks {
            span: Some(Arc::new(move |span, context| {
                hook.lock().unwrap().push((span.is_none(), context.map(TraceContext::traceparent)));
            })),
            ..Hooks::default()
        };
        let user = (&hooks, &Events::new());
        assert!(
            tracing::subscriber::with_default(tracing::subscriber::NoSubscriber::new(), || span(user, &record, 1))
                .is_none()
        );
        assert_eq!(*seen.lock().unwrap(), []);
        let wanted = || span(user, &record, 1).is_some_and(|span| span.metadata().is_some());
        assert!(tracing::subscriber::with_default(tracing_subscriber::registry(), wanted));
        assert_eq!(*seen.lock().unwrap(), [(false, Some(String::from_utf8(parent.to_vec()).unwrap()))]);
    }
}
