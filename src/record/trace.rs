use std::fmt;

use super::trace_state::is_valid_state;
use super::{Headers, ProducerRecord};

/// The header that names the trace, by W3C Trace Context.
const TRACEPARENT: &str = "traceparent";
/// The header with what vendors of tracing systems add.
const TRACESTATE: &str = "tracestate";

/// The id of a trace: 16 bytes, not all zero. Displays as 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(u128);

/// The id of a span: 8 bytes, not all zero. Displays as 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(u64);

impl TraceId {
    /// The id with these bytes; `None` where all are zero.
    pub fn new(bytes: [u8; 16]) -> Option<Self> {
        Some(u128::from_be_bytes(bytes)).filter(|id| *id != 0).map(Self)
    }

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl SpanId {
    /// The id with these bytes; `None` where all are zero.
    pub fn new(bytes: [u8; 8]) -> Option<Self> {
        Some(u64::from_be_bytes(bytes)).filter(|id| *id != 0).map(Self)
    }

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Where a record belongs in a distributed trace, by [W3C Trace Context](https://www.w3.org/TR/trace-context/): what its producer
/// wrote into the headers `traceparent` and `tracestate`.
///
/// Bezoar never changes these headers: dead letters have those of their record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: TraceId,
    span_id: SpanId,
    flags: u8,
    state: String,
}

/// The bit of the flags that says that the trace is recorded.
const SAMPLED: u8 = 1;
/// The length of a `traceparent` of version 00.
const LENGTH: usize = 55;

impl TraceContext {
    /// The context of a span: what is sent within it names it as the parent.
    pub fn new(trace_id: TraceId, span_id: SpanId, sampled: bool) -> Self {
        Self { trace_id, span_id, flags: if sampled { SAMPLED } else { 0 }, state: String::new() }
    }

    /// Sets the `tracestate`; one that is not valid is left out, as the standard says.
    pub fn with_state(mut self, state: &str) -> Self {
        self.state = if is_valid_state([state].into_iter()) { state.to_owned() } else { String::new() };
        self
    }

    /// What the headers say. `None` where there is no `traceparent`, several, or one that the standard does not allow. A
    /// `tracestate` that it does not allow is left out.
    pub fn of(headers: Headers<'_>) -> Option<Self> {
        let named = |name: &'static str| headers.iter().filter(move |header| header.name == name.as_bytes());
        let mut parents = named(TRACEPARENT);
        let (parent, None) = (parents.next()?.value?, parents.next()) else { return None };
        let context = Self::parse(parent)?;
        let state: Option<Vec<&str>> =
            named(TRACESTATE).map(|header| std::str::from_utf8(header.value.unwrap_or_default()).ok()).collect();
        let state = state.filter(|state| is_valid_state(state.iter().copied())).unwrap_or_default();
        Some(Self { state: state.join(","), ..context })
    }

    /// A `traceparent`. Of a version that came later, what version 00 has is read.
    fn parse(text: &[u8]) -> Option<Self> {
        let [version, trace_id, span_id, flags] =
            [(0, 2), (3, 32), (36, 16), (53, 2)].map(|(from, length)| text.get(from..from + length));
        let version = hexadecimal(version?).filter(|version| *version != 0xff)?;
        let trace_id = TraceId(hexadecimal(trace_id?).filter(|id| *id != 0)?);
        let span_id = SpanId(hexadecimal(span_id?).and_then(|id| u64::try_from(id).ok()).filter(|id| *id != 0)?);
        let flags = u8::try_from(hexadecimal(flags?)?).ok()?;
        let dashes = [2, 35, 52].iter().all(|&at| text[at] == b'-');
        let end = match text.get(LENGTH) {
            None => true,
            Some(next) => version > 0 && *next == b'-',
        };
        // Of the flags of a later version only this one is known.
        let flags = if version == 0 { flags } else { flags & SAMPLED };
        (dashes && end).then_some(Self { trace_id, span_id, flags, state: String::new() })
    }

    /// The trace.
    pub fn trace_id(&self) -> TraceId {
        self.trace_id
    }

    /// The span in which the record was sent: the parent of what is done with it.
    pub fn span_id(&self) -> SpanId {
        self.span_id
    }

    /// The flags, as they came.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Whether the trace is recorded, as far as the producer knew.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The `tracestate`; empty where there is none. Several headers are joined by commas.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// The same trace with another span as the parent: for what is sent within that span.
    pub fn within(self, span_id: SpanId) -> Self {
        Self { span_id, ..self }
    }

    /// The value of a `traceparent` header.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

impl ProducerRecord {
    /// Carries a trace on: sets the headers `traceparent` and `tracestate`, in place of those that are there.
    ///
    /// ```
    /// # use bezoar::{Delivery, Failure};
    /// # use bezoar::record::ProducerRecord;
    /// # async fn handle(delivery: Delivery) -> Result<(), Failure> {
    /// let mut bill = ProducerRecord::to("bills").value("…");
    /// if let Some(context) = delivery.trace_context() {
    ///     bill = bill.trace_context(&context);
    /// }
    /// delivery.produce(bill);
    /// # Ok(())
    /// # }
    /// ```
    pub fn trace_context(mut self, context: &TraceContext) -> Self {
        self.headers.retain(|header| header.name != TRACEPARENT && header.name != TRACESTATE);
        self = self.header(TRACEPARENT, context.traceparent());
        if context.state.is_empty() { self } else { self.header(TRACESTATE, context.state.clone()) }
    }
}

/// A number of up to 32 hexadecimal digits, all of them lower case.
fn hexadecimal(digits: &[u8]) -> Option<u128> {
    let lower = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    std::str::from_utf8(digits).ok().filter(|_| lower).and_then(|digits| u128::from_str_radix(digits, 16).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::{HeaderRef, RecordBatchBuilder, TopicPartition};

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn of(headers: &[(&str, &[u8])]) -> Option<TraceContext> {
        let mut batch = RecordBatchBuilder::new(TopicPartition::new("orders", 0), None);
        let headers = headers.iter().map(|(name, value)| HeaderRef { name: name.as_bytes(), value: Some(value) });
        batch.push(0, 0, None, None, headers);
        TraceContext::of(batch.build(1).iter().next().unwrap().headers())
    }

    #[test]
    fn a_context_is_read_as_it_was_written() {
        let context = of(&[("traceparent", PARENT.as_bytes()), ("tracestate", b"rojo=1"), ("tracestate", b"congo=2")]);
        let context = context.unwrap();
        assert_eq!(context.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.span_id().to_string(), "00f067aa0ba902b7");
        assert!(context.is_sampled());
        assert_eq!((context.traceparent().as_str(), context.state()), (PARENT, "rojo=1,congo=2"));
        let within = context.clone().within(SpanId::new([7; 8]).unwrap());
        assert_eq!(within.traceparent(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0707070707070707-01");

        let record = ProducerRecord::to("bills").header("traceparent", "old").header("other", "x");
        let record = record.trace_context(&context);
        let headers: Vec<_> = record.headers.iter().map(|header| header.borrowed()).collect();
        let [other, parent, state] = &headers[..] else { panic!("{headers:?}") };
        assert_eq!(other.name, b"other");
        assert_eq!(parent, &HeaderRef { name: b"traceparent", value: Some(PARENT.as_bytes()) });
        assert_eq!(state, &HeaderRef { name: b"tracestate", value: Some(b"rojo=1,congo=2") });
    }

    #[test]
    fn what_the_standard_does_not_allow_is_no_context() {
        for wrong in [
            "",
            "00",
            // Upper case, another length, another separator.
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            // No trace, no span, no version.
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "+0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
        ] {
            assert_eq!(of(&[("traceparent", wrong.as_bytes())]), None, "{wrong:?}");
        }
        assert_eq!(of(&[("Traceparent", PARENT.as_bytes())]), None);
        assert_eq!(of(&[("traceparent", PARENT.as_bytes()), ("traceparent", PARENT.as_bytes())]), None, "two parents");
    }

    #[test]
    fn a_later_version_is_read_as_far_as_it_is_known() {
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03-what-comes-then";
        let context = of(&[("traceparent", later.as_bytes())]).unwrap();
        assert_eq!(context.traceparent(), PARENT);
    }

    #[test]
    fn a_state_that_is_not_allowed_is_left_out_and_the_parent_stays() {
        let state = |state: &str| {
            let context = of(&[("traceparent", PARENT.as_bytes()), ("tracestate", state.as_bytes())]);
            context.expect("the parent is good").state().to_owned()
        };
        for good in ["a=1", "a=1, b=2", "1a@b=x y", "a=1,,b=2", &format!("{}=1", "a".repeat(256))] {
            assert_eq!(state(good), good);
        }
        let many: Vec<_> = (0..33).map(|number| format!("k{number}=1")).collect();
        for wrong in ["a", "A=1", "a=1,a=2", "a=1=2", "1a=1", "a=\u{e9}", "a=", "@b=1", &many.join(",")] {
            assert_eq!(state(wrong), "", "{wrong:?}");
        }
        let context = TraceContext::new(TraceId::new([1; 16]).unwrap(), SpanId::new([2; 8]).unwrap(), false);
        assert_eq!(context.clone().with_state("a=1").state(), "a=1");
        assert_eq!(context.with_state("a").state(), "");
        assert_eq!((TraceId::new([0; 16]), SpanId::new([0; 8])), (None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_context_that_is_written_back_the_same_or_none(
            parent in prop::collection::vec(any::<u8>(), 0..70),
            state in prop::collection::vec(any::<u8>(), 0..70),
        ) {
            if let Some(context) = of(&[("traceparent", &parent), ("tracestate", &state)]) {
                prop_assert!(parent.len() >= LENGTH);
                let written = context.traceparent();
                prop_assert_eq!(&written.as_bytes()[3..53], &parent[3..53]);
            }
        }

        #[test]
        fn every_context_is_read_back(trace in any::<[u8; 16]>(), span in any::<[u8; 8]>(), sampled: bool) {
            let (Some(trace), Some(span)) = (TraceId::new(trace), SpanId::new(span)) else { return Ok(()) };
            let context = TraceContext::new(trace, span, sampled);
            prop_assert_eq!(of(&[("traceparent", context.traceparent().as_bytes())]), Some(context.clone()));
            prop_assert_eq!((context.trace_id().to_bytes(), context.span_id().to_bytes()), (trace.to_bytes(), span.to_bytes()));
        }
    }
}
