//! The broker lets a producer that it does not know begin with any sequence number: what follows a first batch that was refused
//! must not take its place.

use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, Fault};

use crate::plane::{broker, produce, values};

#[tokio::test]
async fn what_follows_a_first_batch_that_was_refused_stays_behind_it() {
    // NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, KAFKA_STORAGE_ERROR
    for code in [6, 19, 56] {
        let (broker, ports) = broker(1, |settings| settings.produce.batch_bytes = 1).await;
        broker.inject(Fault::on(Api::Produce).error(ErrorCode(code)));
        // Long enough for the others to be sent behind it.
        broker.inject(Fault::on(Api::Produce).delay(Duration::from_millis(200)));
        let mut calls = Vec::new();
        for value in 0..8 {
            calls.push(produce(&ports, 0, value..value + 1));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for call in calls {
            call.await.unwrap().unwrap();
        }
        assert_eq!(values(&broker, 0), (0..8).collect::<Vec<_>>(), "after {code}");
    }
}
