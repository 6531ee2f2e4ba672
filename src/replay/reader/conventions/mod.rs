//! The conventions, one table each.

mod apache;
mod bezoar;
mod envelopes;
mod others;
mod plain;
mod rust;
mod smallrye;
mod spring;

pub(super) use bezoar::LINEAGE;
pub(super) use envelopes::{ENVELOPE, SIMPLE_ENVELOPE};

use super::layout::Layout;

/// The conventions that write headers. Bezoar's is the first, and [`LINEAGE`] the last; of those whose names anybody may use
/// the earlier one counts.
pub(super) static LAYOUTS: [&Layout; 17] = [
    &bezoar::BEZOAR,
    &apache::KIP_1191,
    &spring::SPRING,
    &spring::SPRING_RETRY,
    &apache::CONNECT,
    &apache::STREAMS,
    &smallrye::DEAD_LETTER,
    &smallrye::DELAYED_RETRY,
    &rust::BEAVERS,
    &rust::KRAFKA,
    &rust::AUTUMN,
    &others::WATERMILL,
    &others::KARAFKA,
    &others::ARROYO,
    &others::TRENDYOL,
    &plain::PLAIN,
    &LINEAGE,
];

/// Places in [`LAYOUTS`].
pub(super) const BEZOAR: usize = 0;
pub(super) const KIP_1191: usize = 1;
pub(super) const SPRING: usize = 2;
pub(super) const CONNECT: usize = 4;
pub(super) const PLAIN: usize = LAYOUTS.len() - 2;
pub(super) const LINEAGE_PLACE: usize = LAYOUTS.len() - 1;
