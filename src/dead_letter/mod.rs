//! Dead letters: their records, and the actor that publishes them.
