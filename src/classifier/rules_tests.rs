use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use proptest::prelude::*;

use super::{ErrorTypes, Evidence, FailureKind, Rules};
use crate::handler::Failure;
use crate::policy::Category::{self, *};

/// A user's error around any cause.
#[derive(Debug, thiserror::Error)]
#[error("reserving failed")]
struct Wrapper(#[source] Box<dyn Error + Send + Sync>);

fn wrap(error: impl Into<Box<dyn Error + Send + Sync>>) -> Wrapper {
    Wrapper(Box::new(Wrapper(error.into())))
}

fn evidence(kind: FailureKind, failure: impl Into<Failure>) -> Evidence {
    Evidence::from_failure(kind, &failure.into(), &ErrorTypes::default())
}

fn handler(failure: impl Into<Failure>) -> Category {
    Rules::default().classify(&evidence(FailureKind::Handler, failure))
}

fn decode(failure: impl Into<Failure>) -> Category {
    Rules::default().classify(&evidence(FailureKind::Decode, failure))
}

fn text(message: &str) -> Category {
    handler(Failure::new(message))
}

fn json(input: &str) -> serde_json::Error {
    serde_json::from_str::<serde_json::Value>(input).unwrap_err()
}

#[test]
fn transient_by_type_wherever_in_the_chain() {
    let kinds = [
        ErrorKind::TimedOut,
        ErrorKind::ConnectionRefused,
        ErrorKind::ConnectionReset,
        ErrorKind::ConnectionAborted,
        ErrorKind::BrokenPipe,
        ErrorKind::NotConnected,
        ErrorKind::HostUnreachable,
        ErrorKind::NetworkUnreachable,
        ErrorKind::UnexpectedEof,
    ];
    for kind in kinds {
        assert_eq!(handler(io::Error::new(kind, "x")), Transient, "{kind:?}");
        assert_eq!(handler(wrap(io::Error::from(kind))), Transient, "{kind:?} wrapped");
        assert_eq!(handler(io::Error::other(wrap(io::Error::new(kind, "x")))), Transient, "{kind:?} inside io::Error");
    }
    assert_eq!(handler(io::Error::new(ErrorKind::NotFound, "x")), Unknown);
}

#[tokio::test]
async fn elapsed_is_transient() {
    let elapsed = tokio::time::timeout(Duration::ZERO, std::future::pending::<()>()).await.unwrap_err();
    assert_eq!(handler(wrap(elapsed)), Transient);
}

#[test]
fn validation_by_type() {
    assert_eq!(handler(json("{")), Validation);
    assert_eq!(handler(wrap(json("{"))), Validation);
    assert_eq!(handler(String::from_utf8(vec![0xff]).unwrap_err()), Validation);
    assert_eq!(handler("x".parse::<u32>().unwrap_err()), Validation);
    assert_eq!(handler(wrap("x".parse::<f64>().unwrap_err())), Validation);
    assert_eq!(handler("x".parse::<std::net::IpAddr>().unwrap_err()), Validation);
}

#[test]
fn the_innermost_type_is_the_cause() {
    // serde_json turns a truncated text into an `io::Error` of kind UnexpectedEof, which alone would be a cut connection.
    let truncated = io::Error::from(json("{"));
    assert_eq!(truncated.kind(), ErrorKind::UnexpectedEof);
    assert_eq!(handler(truncated), Validation);
    // And a JSON reader whose connection failed says so through a serde_json::Error.
    struct Failing;
    impl io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::new(ErrorKind::ConnectionReset, "x"))
        }
    }
    assert_eq!(handler(serde_json::from_reader::<_, u32>(Failing).unwrap_err()), Transient);
}

#[test]
fn poison_by_type_and_by_text_beats_other_types() {
    let mut bytes = Vec::<u8>::new();
    assert_eq!(handler(wrap(bytes.try_reserve(usize::MAX).unwrap_err())), Poison);
    assert_eq!(handler(io::Error::from(ErrorKind::OutOfMemory)), Poison);
    for message in ["Out of Memory", "infinite RECURSION", "stack overflow in f", "Segmentation fault (core dumped)"] {
        assert_eq!(text(message), Poison, "{message}");
        assert_eq!(handler(io::Error::new(ErrorKind::TimedOut, message)), Poison, "{message}");
        assert_eq!(decode(Failure::new(message)), Poison, "{message}");
    }
    let parse = Failure::from("x".parse::<u32>().unwrap_err()).context("stack overflow");
    assert_eq!(handler(parse), Poison);
}

#[test]
fn the_recursion_limit_of_serde_json_is_validation() {
    let deep = json(&"[".repeat(1_000));
    assert!(deep.to_string().starts_with("recursion limit exceeded at line "), "{deep}");
    assert_eq!(decode(json(&"[".repeat(1_000))), Validation);
    assert_eq!(handler(wrap(deep)), Validation);
    // Behind a transparent wrapper the type is lost, the text is not.
    assert_eq!(handler(Failure::new(json(&"[".repeat(1_000)).to_string())), Validation);
    assert_eq!(handler(Failure::from(json(&"[".repeat(1_000))).context("stack overflow")), Poison);
    assert_eq!(text("recursion limit exceeded"), Poison);
}

#[test]
fn texts_are_found_in_any_case_and_numbers_as_whole_words() {
    for message in
        ["inventory service TIMEOUT", "HTTP 504", "temporarily unavailable", "Try again", "connection refused"]
    {
        assert_eq!(text(message), Transient, "{message}");
    }
    for message in ["503", "status=429", "Rate Limit exceeded, try again in 20 s", "Service Unavailable"] {
        assert_eq!(text(message), Dependency, "{message}");
    }
    for message in ["order 15034 is odd", "sold out", "", "order 14295"] {
        assert_eq!(text(message), Unknown, "{message}");
    }
    assert_eq!(handler(wrap("upstream answered 503")), Dependency, "the whole chain is searched");
}

#[test]
fn one_line_moves_503_and_rate_limit() {
    let rules = Rules::default().unavailable_as(Transient);
    for message in ["503", "rate limit"] {
        assert_eq!(rules.classify(&evidence(FailureKind::Handler, Failure::new(message))), Transient);
    }
}

#[test]
fn own_rules_come_first_in_their_order() {
    let rules = Rules::default()
        .type_rule("serde_json::Error", Dependency)
        .rule("503", Transient)
        .rule("out of memory", Unknown)
        .rule("memory", Validation);
    let classify = |failure: Failure| rules.classify(&evidence(FailureKind::Handler, failure));
    assert_eq!(classify(wrap(json("{")).into()), Dependency);
    assert_eq!(classify(Failure::new("HTTP 503")), Transient);
    assert_eq!(classify(Failure::new("order 15034")), Unknown);
    assert_eq!(classify(Failure::new("device out of memory")), Unknown);
    assert_eq!(classify(Failure::new("memory")), Validation);
    let outer = std::any::type_name::<Wrapper>();
    let rules = Rules::default().type_rule(outer, Poison);
    assert_eq!(rules.classify(&evidence(FailureKind::Handler, wrap(json("{")))), Poison);
}

#[test]
fn decode_errors_are_validation_unless_they_say_otherwise() {
    assert_eq!(decode(json("{")), Validation);
    assert_eq!(decode(Failure::new("unknown magic byte, try again with 503 or a timeout")), Validation);
    assert_eq!(decode(io::Error::from(ErrorKind::UnexpectedEof)), Validation, "too few bytes");
    assert_eq!(decode(wrap(io::Error::from(ErrorKind::ConnectionRefused))), Transient, "a schema registry is down");
    assert_eq!(decode(Failure::transient("schema registry is down")), Transient);
    // The message quotes the record, which must not be able to wake someone up.
    let quoting = serde_json::from_str::<u32>("\"out of memory\"").unwrap_err();
    assert!(quoting.to_string().contains("out of memory"));
    assert_eq!(decode(quoting), Validation);
}

#[test]
fn stated_beats_user_beats_rules() {
    let mut seen = evidence(FailureKind::Handler, io::Error::from(ErrorKind::TimedOut));
    assert_eq!(Rules::default().classify(&seen), Transient);
    seen.user = Some(Validation);
    assert_eq!(Rules::default().classify(&seen), Validation);
    seen.stated = Some(Unknown);
    assert_eq!(Rules::default().rule("timed out", Poison).classify(&seen), Unknown);
}

#[test]
fn what_takes_the_process_down_is_always_poison() {
    let limit = Duration::from_secs(30);
    let all = [
        (Evidence::timeout(limit), "timeout", "processing timed out after 30s"),
        (Evidence::stall(limit), "stall", "processing blocked its thread for longer than 30s"),
        (Evidence::crash(3), "crash", "the process died 3 times while processing it"),
        (Evidence::panic("boom", Some("src/a.rs:1:2".into()), None, None), "panic", "panicked at src/a.rs:1:2: boom"),
    ];
    for (mut evidence, error_type, message) in all {
        assert_eq!((evidence.error_type.as_str(), evidence.message.as_str()), (error_type, message));
        evidence.stated = Some(Transient);
        evidence.user = Some(Validation);
        assert_eq!(Rules::default().rule("panicked", Unknown).classify(&evidence), Poison);
    }
}

proptest! {
    #[test]
    fn any_failure_gets_a_category_and_stated_ones_keep_theirs(
        message in "\\PC{0,60}", kind in prop::sample::select(&[FailureKind::Decode, FailureKind::Handler][..]), index in 0..5usize, inner in "\\PC{0,20}",
    ) {
        let failure = Failure::from(wrap(io::Error::other(inner))).context(message);
        let mut seen = evidence(kind, failure);
        let _ = Rules::default().classify(&seen);
        seen.stated = Some(Category::ALL[index]);
        prop_assert_eq!(Rules::default().classify(&seen), Category::ALL[index]);
    }

    #[test]
    fn poison_text_is_poison_whatever_surrounds_it(before in "[^\"]{0,30}", after in "[^\"]{0,30}", decoding in any::<bool>()) {
        let failure = Failure::new(format!("{before} Stack Overflow {after}"));
        let kind = if decoding { FailureKind::Decode } else { FailureKind::Handler };
        prop_assert_eq!(Rules::default().classify(&evidence(kind, failure)), Poison);
    }

    #[test]
    fn case_does_not_matter(message in "[a-zA-Z0-9 ]{0,40}") {
        prop_assert_eq!(text(&message.to_uppercase()), text(&message.to_lowercase()));
    }
}
