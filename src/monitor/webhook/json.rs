use serde_json::{Value, json};

use super::time;
use crate::monitor::alert::Alert;

/// Everything, under the names of the fields.
pub(super) fn body(alert: &Alert) -> Value {
    json!({
        "version": 1,
        "key": &*alert.key,
        "kind": alert.kind,
        "status": alert.state,
        "severity": alert.severity,
        "previous": alert.previous,
        "page": alert.page,
        "title": alert.title,
        "message": alert.message,
        "tags": alert.tags,
        "source": &*alert.source,
        "since": time(alert.since),
        "at": time(alert.at),
    })
}
