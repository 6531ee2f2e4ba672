//! Changes to records before they are replayed: by a jq program, or in an editor; and what they change.

mod diff;
mod editor;
mod frames;
mod jq;
mod worker;

pub(super) use diff::{Change, show};
pub(super) use editor::{Edited, editor_command};
pub(super) use worker::{JqFix, serve};
