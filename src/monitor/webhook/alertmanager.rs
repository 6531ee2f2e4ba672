use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::time;
use crate::monitor::alert::{Alert, AlertKind, Severity};

/// The alert; and where its severity has changed the one with the old severity as over, since labels tell alerts apart.
pub(super) fn body(alert: &Alert) -> Value {
    let mut alerts = Vec::new();
    let before = alert.previous.filter(|before| *before != alert.severity);
    alerts.extend(before.map(|severity| one(alert, severity, alert.at)));
    if !alert.is_resolved() {
        // Without an end it would be taken for over after Alertmanager's resolve_timeout, five minutes by default.
        alerts.push(one(alert, alert.severity, alert.until));
    }
    Value::Array(alerts)
}

fn one(alert: &Alert, severity: Severity, end: i64) -> Value {
    let name = match alert.kind {
        AlertKind::Depth => "BezoarDeadLetterDepth",
        AlertKind::Letters => "BezoarDeadLetters",
        AlertKind::Held => "BezoarDeadLettersHeld",
        AlertKind::Retention => "BezoarRecordsNearRemoval",
    };
    let mut labels: BTreeMap<&str, &str> =
        alert.tags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    labels.insert("alertname", name);
    labels.insert("severity", severity.as_str());
    if alert.kind == AlertKind::Letters {
        labels.insert("page", if alert.page { "true" } else { "false" });
    }
    json!({
        "labels": labels,
        "annotations": { "summary": alert.title, "description": alert.message, "source": &*alert.source },
        "startsAt": time(alert.since.min(end)),
        "endsAt": time(end),
    })
}
