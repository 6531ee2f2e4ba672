//! Keeps user code apart: the panic guard around each poll, and the lanes on which handlers run.

pub(crate) mod guard;
mod planes;

pub use planes::Isolation;
pub(crate) use planes::Planes;
