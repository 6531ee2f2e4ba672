//! Which topics and dead letters a command is for.

mod dead_letters;
mod filter;
mod place;
mod topics;

pub(super) use dead_letters::{SelectArgs, Selected};
pub(super) use filter::FilterArgs;
pub(super) use place::parse_place;
pub(super) use topics::{TopicArgs, fits, is_dead_letter_topic};
