use serde_json::{Value, json};

use super::time;
use crate::monitor::alert::{Alert, AlertKind};
use crate::monitor::text::brief;

/// The longest summary that is taken, in characters.
const SUMMARY: usize = 1_023;

/// An event that opens an incident, adds to it, or resolves it.
pub(super) fn body(alert: &Alert, routing_key: &str) -> Value {
    if alert.is_resolved() {
        return json!({ "routing_key": routing_key, "event_action": "resolve", "dedup_key": &*alert.key });
    }
    let of = |tag: &str| alert.tags.get(tag);
    let class = match alert.kind {
        AlertKind::Depth => "dead-letter depth",
        AlertKind::Letters => "dead letters",
        AlertKind::Held => "dead letters held",
        AlertKind::Retention => "retention",
    };
    json!({
        "routing_key": routing_key,
        "event_action": "trigger",
        "dedup_key": &*alert.key,
        "client": "Bezoar",
        "payload": {
            "summary": brief(&format!("{}: {}", alert.title, alert.message), SUMMARY),
            "source": &*alert.source,
            "severity": alert.severity,
            "timestamp": time(alert.at),
            "component": of("topic"),
            "group": of("group"),
            "class": class,
            "custom_details": { "message": alert.message, "page": alert.page, "since": time(alert.since), "tags": alert.tags },
        },
    })
}
