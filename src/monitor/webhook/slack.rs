use serde_json::{Value, json};

use crate::monitor::alert::{Alert, Severity};

/// A message with a coloured bar and the tags as fields.
pub(super) fn body(alert: &Alert) -> Value {
    let color = match alert.severity {
        _ if alert.is_resolved() => "good",
        Severity::Critical => "danger",
        Severity::Warning => "warning",
        Severity::Info => "#439FE0",
    };
    let title = escape(&alert.title);
    let tags = alert.tags.iter();
    let fields: Vec<Value> =
        tags.map(|(name, value)| json!({ "title": escape(name), "value": escape(value), "short": true })).collect();
    let mark = match alert.page && !alert.is_resolved() {
        true => "<!channel> ",
        false => "",
    };
    json!({
        "text": format!("{mark}*{title}*"),
        "attachments": [{
            "fallback": title,
            "color": color,
            "text": escape(&alert.message),
            "fields": fields,
            "footer": escape(&alert.source),
            "ts": alert.at / 1_000,
        }],
    })
}

/// The three characters that mean something in Slack's texts.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
