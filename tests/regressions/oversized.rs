//! One batch that no answer may bring, beside others that could be read.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{Feed, SourceProblem};
use bezoar::embedded::BatchWriter;

use crate::plane::{Reader, broker, orders, produce};

#[tokio::test]
async fn a_batch_larger_than_an_answer_may_be_holds_up_no_other_partition() {
    let (broker, ports) = broker(3, |settings| {
        settings.max_response_bytes = 200_000;
        settings.fetch_max_wait = Duration::from_millis(50);
    })
    .await;
    let huge = BatchWriter::new().record(None, Some(&[b'7'; 300_000]), vec![]);
    broker.append_raw("orders", 0, huge.build()).unwrap();
    let problem = Arc::new(Mutex::new(None));
    let stuck = Arc::new(Feed::new(orders(0), 1 << 20, {
        let problem = Arc::clone(&problem);
        move |found| *problem.lock().unwrap() = Some(found)
    }));
    ports.source.add(orders(0), None, 0, stuck);
    for number in [1, 2] {
        let reader = Reader::begin(&ports.source, &orders(number), 0, 1 << 20);
        for value in 0..20 {
            produce(&ports, number, value..value + 1).await.unwrap().unwrap();
            assert_eq!(reader.next().await, [(value as i64, value)]);
        }
    }
    // One answer may have been garbled: it is given up after several.
    let error = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            if let Some(SourceProblem::Failed(error)) = &*problem.lock().unwrap() {
                return error.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let error = error.await.expect("the partition is given up");
    assert!(error.to_string().contains("max_response_bytes"), "{error}");
}
