use bezoar::replay::{Convention, DeadLetter};

use crate::support::{read, said, texts};

#[test]
fn error_and_source() {
    let letter = read(texts(&[("error", "JSONDecodeError"), ("source", "shop/orders/3/17")]));
    assert_eq!(said(&letter), (Convention::Plain, "shop/orders/3/17".to_owned(), "JSONDecodeError", "", None, None));
    assert_eq!(letter.origin.topic.as_deref(), Some("shop/orders"), "partition and offset are the last two");
}

/// Anybody may use headers of these names.
#[test]
fn other_headers_of_these_names_are_the_records_own() {
    for source in ["warehouse", "orders/3", "/3/17", "orders/x/17", "orders/3/-1", "orders/3/17/"] {
        let headers = texts(&[("error", "none")]).into_iter().chain([bezoar::record::Header::new("source", source)]);
        let headers: Vec<_> = headers.collect();
        let letter = DeadLetter::read(None, None, headers.clone());
        assert_eq!((letter.convention, letter.headers), (Convention::Unrecognized, headers), "{source}");
    }
    let headers = texts(&[("source", "orders/3/17")]);
    assert_eq!(DeadLetter::read(None, None, headers).convention, Convention::Unrecognized);
}
