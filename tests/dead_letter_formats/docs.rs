use bezoar::dead_letter::names::{self, connect, spring};
use bezoar::replay::Convention;

const DOCS: &str = include_str!("../../docs/dead-letter-formats.md");

#[test]
fn the_documentation_names_each_convention_and_header() {
    for convention in Convention::ALL.into_iter().filter(|convention| *convention != Convention::Unrecognized) {
        assert!(DOCS.contains(&format!("| `{convention}`")), "{convention}");
    }
    for name in [names::TOPIC, names::CATEGORY, names::FINGERPRINT, names::TRUNCATED, spring::TOPIC, connect::TOPIC] {
        assert!(DOCS.contains(&format!("`{name}`")), "{name}");
    }
}
