//! docs/cli.md names what there is.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::stage::{Stage, plain};

const DOCS: &str = include_str!("../../docs/cli.md");

/// All names of fields, those within objects and lists too; not those that are data.
fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                found.insert(name.clone());
                if !["categories", "sources", "tags"].contains(&name.as_str()) {
                    names(value, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn all_fields_of_json_lines_are_documented() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    let mut found = BTreeSet::new();
    for line in [
        "dlq list --source $ORDERS",
        "dlq groups --source $ORDERS",
        "dlq stats --source $ORDERS",
        "dlq watch --source $ORDERS --once",
        "topics $ORDERS*",
        "dlq replay --source $ORDERS --category validation --dry-run",
        &format!("dlq replay {validation}/0/0 --yes"),
        &format!("dlq discard {validation}/0/1 --reason r --yes"),
    ] {
        stage.json(line).await.iter().for_each(|value| names(value, &mut found));
    }
    for name in found {
        assert!(DOCS.contains(&format!("`{name}`")), "{name} is not in docs/cli.md");
    }
}

#[tokio::test]
async fn all_variables_and_flags_of_the_connection_are_documented() {
    let help = plain("--help").await;
    let words = help.ends(0).split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_');
    let wanted =
        words.filter(|word| word.starts_with("BEZOAR_") || word.starts_with("--tls") || word.starts_with("--sasl"));
    let wanted: BTreeSet<&str> = wanted.filter(|word| *word != "BEZOAR_LOG").collect();
    assert!(wanted.len() > 15, "{wanted:?}");
    for word in wanted {
        assert!(DOCS.contains(word), "{word} is not in docs/cli.md");
    }
}

#[tokio::test]
async fn exit_codes_are_the_same_in_help_and_docs() {
    let help = plain("--help").await;
    for code in ["0", "1", "2", "3", "4", "5", "130"] {
        assert!(help.ends(0).lines().any(|line| line.trim_start().starts_with(&format!("{code}  "))), "{code}");
        assert!(DOCS.contains(&format!("| {code} |")), "{code}");
    }
}
