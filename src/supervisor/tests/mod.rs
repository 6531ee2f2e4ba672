//! The supervisor's part of rebalances, with a group that the test plays.

mod broker;
mod lost;
mod moves;
mod random;
mod revoked;
mod stage;
mod starts;
