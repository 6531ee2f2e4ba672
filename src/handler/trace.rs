use super::Delivery;
use crate::record::TraceContext;

impl Delivery {
    /// Where the record belongs in a distributed trace, by its headers `traceparent` and `tracestate`; `None` where it has none, or
    /// one that W3C Trace Context does not allow. For what is sent onward:
    /// [`ProducerRecord::trace_context`](crate::record::ProducerRecord::trace_context).
    pub fn trace_context(&self) -> Option<TraceContext> {
        TraceContext::of(self.headers())
    }
}
