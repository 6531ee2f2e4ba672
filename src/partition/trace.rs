use std::sync::Arc;

use tracing::Span;
use tracing::field::{Empty, display};

use super::context::Hooks;
use crate::event::{Event, Events};
use crate::isolation::guard::guarded;
use crate::record::{Record, TraceContext};

/// Told of each delivery's span, and of the context that came with the record.
pub(crate) type SpanHook = Arc<dyn Fn(&Span, Option<&TraceContext>) + Send + Sync>;

/// The span of a delivery, if anybody wants it; otherwise this costs a look at one word.
///
/// It is no child of whatever span is entered: its parent, if any, is in another process.
#[inline]
pub(super) fn span(user: (&Hooks, &Events), record: &Record, attempt: u32) -> Option<Span> {
    let span = tracing::debug_span!(
        target: "bezoar::delivery", parent: None, "delivery",
        topic = record.partition().topic(), partition = record.partition().partition(), offset = record.offset(),
        attempt, trace_id = Empty, parent_span_id = Empty
    );
    if span.is_disabled() {
        return None;
    }
    place(user, &span, record);
    Some(span)
}

/// Says where the span belongs: in its fields, and to the user's hook.
#[cold]
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
