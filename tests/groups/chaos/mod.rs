//! Instances that come and go at random, handlers that fail, panic and hold on, brokers that crash: nothing is lost, order
//! holds, and no owner goes on past its end.
//!
//! `BEZOAR_TRIAL_SECONDS` is how long the disorder of each trial lasts, `BEZOAR_TRIAL_SEED` repeats one.

mod check;
mod check_tests;
mod instances;
mod load;
mod trial;

use crate::membership::Kind;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_the_consumer_protocol_lose_nothing() {
    trial::run(Kind::Consumer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn classic_members_that_are_sticky_lose_nothing() {
    trial::run(Kind::Sticky).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn classic_members_that_divide_by_range_lose_nothing() {
    trial::run(Kind::Range).await;
}
