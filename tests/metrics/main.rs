//! What is counted, measured and told of health is what happened: from the consumer's handle and by the endpoint alike.

mod docs;
mod exact;
mod gauges;
mod health;
mod hostile;
mod support;
mod traces;
