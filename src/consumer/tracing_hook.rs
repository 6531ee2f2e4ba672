use std::sync::Arc;

use super::builder::ConsumerBuilder;
use crate::record::TraceContext;

impl ConsumerBuilder {
    /// Sees the span of each delivery before its handler runs in it, with the trace context that came with the record, if any: so
    /// that the span's remote parent can be set where spans are exported (the repository's `docs/metrics.md` shows how with
    /// `tracing-opentelemetry`).
    ///
    /// There are spans only where a subscriber of `tracing` is interested in those of the target `bezoar::delivery`, level
    /// `DEBUG`, name `delivery`; their fields are `topic`, `partition`, `offset`, `attempt`, and `trace_id` and `parent_span_id`
    /// where the record has a context. A hook that panics is told ([`Event::HookFailed`](crate::Event::HookFailed)) and the
    /// delivery goes on.
    pub fn on_delivery_span(
        mut self,
        hook: impl Fn(&tracing::Span, Option<&TraceContext>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.span = Some(Arc::new(hook));
        self
    }
}
