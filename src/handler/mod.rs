//! What users write: handlers, decoders, failures.
