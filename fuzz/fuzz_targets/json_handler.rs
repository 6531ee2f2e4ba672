//! Arbitrary bytes through `Json` into a handler that panics on some of them: nothing may escape, and each outcome is
//! classified as the documentation says.
//!
//! A template for fuzzing your own handlers.

#![no_main]

use bezoar::policy::Category;
use bezoar::record::{Header, ProducerRecord};
use bezoar::testing::{Harness, Outcome};
use bezoar::{Delivery, Failure, Handler, Json};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

#[derive(Deserialize)]
struct Order {
    id: u64,
    items: Vec<Item>,
    note: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    count: u32,
    price: f64,
}

#[derive(Default)]
struct Totals {
    seen: Vec<u64>,
}

impl Handler for Totals {
    type Message = Order;
    type Error = Failure;

    async fn handle(&mut self, order: Order, delivery: Delivery) -> Result<(), Failure> {
        if order.items.is_empty() {
            return Err(Failure::validation("no items"));
        }
        // Deliberately careless: divides by zero, indexes past the end, slices inside a character.
        let mean = order.items.iter().map(|item| item.price).sum::<f64>() as u64 / u64::from(order.items[0].count);
        if let Some(note) = &order.note {
            let _ = &note[..note.len().min(3)];
        }
        let _ = order.items[(order.id % 4) as usize].count;
        self.seen.push(mean ^ delivery.offset() as u64);
        Ok(())
    }
}

#[derive(Debug, Arbitrary)]
struct Input {
    values: Vec<Value>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

#[derive(Debug, Arbitrary)]
enum Value {
    Null,
    Bytes(Vec<u8>),
    Order { id: u64, items: Vec<(u32, f64)>, note: Option<String> },
}

impl Value {
    fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Null => None,
            Self::Bytes(bytes) => Some(bytes.clone()),
            Self::Order { id, items, note } => {
                let items: Vec<String> =
                    items.iter().map(|(count, price)| format!(r#"{{"count":{count},"price":{price}}}"#)).collect();
                let note = note.as_ref().map_or("null".to_owned(), |note| format!("{note:?}"));
                Some(format!(r#"{{"id":{id},"items":[{}],"note":{note}}}"#, items.join(",")).into_bytes())
            }
        }
    }
}

fuzz_target!(
    // libFuzzer's own hook aborts at every panic, also at those that are caught. What escapes still aborts.
    init: std::panic::set_hook(Box::new(|_| {})),
    |input: Input| {
        let mut harness = Harness::new(Json, Totals::default());
        for value in &input.values {
            let mut record = ProducerRecord::to("orders");
            record.value = value.bytes().map(Into::into);
            for (name, content) in &input.headers {
                record.headers.push(Header { name: name.clone().into(), value: content.clone().map(Into::into) });
            }
            match harness.deliver_blocking(record) {
                Outcome::Handled => {}
                Outcome::Failed { category, message, .. } => {
                    assert_eq!(category, Category::Validation, "{message}");
                }
                Outcome::Panicked { message, .. } => assert!(!message.is_empty()),
                other => panic!("unexpected outcome {other:?}"),
            }
        }
    }
);
