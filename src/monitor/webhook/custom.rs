use std::collections::BTreeMap;

use serde_json::Value;

use super::time;
use crate::monitor::alert::{Alert, AlertKind, AlertState, Severity};
use crate::policy::ConfigError;

/// A JSON text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Field),
    Tag(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Title,
    Message,
    Severity,
    Status,
    Kind,
    Key,
    Source,
    Since,
    At,
    Page,
    SinceMillis,
    AtMillis,
    Tags,
}

/// All that can stand between braces.
const FIELDS: [(&str, Field); 13] = [
    ("title", Field::Title),
    ("message", Field::Message),
    ("severity", Field::Severity),
    ("status", Field::Status),
    ("kind", Field::Kind),
    ("key", Field::Key),
    ("source", Field::Source),
    ("since", Field::Since),
    ("at", Field::At),
    ("page", Field::Page),
    ("since_ms", Field::SinceMillis),
    ("at_ms", Field::AtMillis),
    ("tags", Field::Tags),
];

impl Template {
    /// Reads a template, and sees whether JSON comes of it. `setting` is what errors call it.
    pub(super) fn parse(text: &str, setting: &str) -> Result<Self, ConfigError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            parts.push(Part::Text(before.to_owned()));
            let Some((name, after)) = after.split_once("}}") else {
                let remedy = "close it with }}";
                return Err(ConfigError::new(setting, format!("{{{{{after}"), "is a placeholder without end", remedy));
            };
            parts.push(part(name.trim()).ok_or_else(|| {
                let names: Vec<_> = FIELDS.iter().map(|(name, _)| *name).collect();
                let remedy = format!("use one of {}, tags.NAME", names.join(", "));
                ConfigError::new(setting, format!("{{{{{name}}}}}"), "is no placeholder", remedy)
            })?);
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        let template = Self { parts };
        // Two that have little in common: what comes of one by chance does not of the other.
        let rendered = [sample(), template.other_sample()].map(|alert| template.render(&alert));
        match rendered.iter().try_for_each(|text| serde_json::from_str::<Value>(text).map(drop)) {
            Ok(()) => Ok(template),
            Err(error) => {
                let problem = format!("is no JSON once it is filled in ({error})");
                let remedy = "put quotes around placeholders of texts, as in {\"text\": \"{{title}}\"}";
                Err(ConfigError::new(setting, text, problem, remedy))
            }
        }
    }

    /// An alert that differs in all that is filled in, and has all tags that are asked for.
    fn other_sample(&self) -> Alert {
        let text = "{ \"\u{e9}";
        let tag = |part: &Part| match part {
            Part::Tag(name) => Some((name.clone(), text.to_owned())),
            _ => None,
        };
        Alert {
            key: text.into(),
            kind: AlertKind::Held,
            state: AlertState::Resolved,
            severity: Severity::Warning,
            page: true,
            title: text.to_owned(),
            message: text.to_owned(),
            tags: self.parts.iter().filter_map(tag).collect(),
            source: text.into(),
            since: 1_700_000_000_000,
            at: 1_700_000_000_000,
            ..sample()
        }
    }

    /// Fills it in.
    pub(super) fn render(&self, alert: &Alert) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Field(field) => text.push_str(&field.of(alert)),
                Part::Tag(name) => text.push_str(&escaped(alert.tags.get(name).map_or("", String::as_str))),
            }
        }
        text
    }
}

fn part(name: &str) -> Option<Part> {
    if let Some(tag) = name.strip_prefix("tags.") {
        return Some(Part::Tag(tag.to_owned()));
    }
    FIELDS.into_iter().find(|(known, _)| *known == name).map(|(_, field)| Part::Field(field))
}

impl Field {
    fn of(self, alert: &Alert) -> String {
        match self {
            Self::Title => escaped(&alert.title),
            Self::Message => escaped(&alert.message),
            Self::Severity => alert.severity.as_str().to_owned(),
            Self::Status => alert.state.as_str().to_owned(),
            Self::Kind => alert.kind.as_str().to_owned(),
            Self::Key => escaped(&alert.key),
            Self::Source => escaped(&alert.source),
            Self::Since => time(alert.since),
            Self::At => time(alert.at),
            Self::Page => alert.page.to_string(),
            Self::SinceMillis => alert.since.to_string(),
            Self::AtMillis => alert.at.to_string(),
            Self::Tags => serde_json::json!(alert.tags).to_string(),
        }
    }
}

/// A text as it stands between the quotes of JSON.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// An alert to try templates with.
pub(super) fn sample() -> Alert {
    Alert {
        key: "bezoar/depth/orders.dlq".into(),
        kind: AlertKind::Depth,
        state: AlertState::Firing,
        severity: Severity::Critical,
        previous: None,
        page: false,
        title: "Critical: dead letters in orders.dlq".to_owned(),
        message: "depth is 1,234, threshold is 1,000 \"\\\n".to_owned(),
        tags: BTreeMap::from([("topic".to_owned(), "orders.dlq".to_owned())]),
        source: "bezoar".into(),
        since: 0,
        at: 0,
        until: 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn render(template: &str, alert: &Alert) -> Value {
        serde_json::from_str(&Template::parse(template, "template").unwrap().render(alert)).unwrap()
    }

    #[test]
    fn all_placeholders_are_filled_in() {
        let texts = FIELDS.map(|(name, _)| name).into_iter().filter(|name| !["page", "tags"].contains(name));
        let texts: Vec<String> = texts.map(|name| format!("\"{name}\": \"{{{{ {name} }}}}\"")).collect();
        let template = format!(
            "{{{}, \"page\": {{{{page}}}}, \"tags\": {{{{tags}}}}, \"t\": \"{{{{tags.topic}}}}{{{{tags.no}}}}\"}}",
            texts.join(", ")
        );
        let mut alert = sample();
        alert.since = 1_500;
        let expected = json!({
            "title": "Critical: dead letters in orders.dlq", "message": "depth is 1,234, threshold is 1,000 \"\\\n",
            "severity": "critical", "status": "firing", "kind": "depth", "key": "bezoar/depth/orders.dlq", "source": "bezoar",
            "since": "1970-01-01T00:00:01.500Z", "at": "1970-01-01T00:00:00.000Z", "since_ms": "1500", "at_ms": "0",
            "page": false, "tags": {"topic": "orders.dlq"}, "t": "orders.dlq",
        });
        assert_eq!(render(&template, &alert), expected);
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for (template, says) in [
            ("{\"text\": \"{{titel}}\"}", "\"{{titel}}\" is no placeholder"),
            ("{\"text\": \"{{title\"}", "without end"),
            ("{\"text\": {{title}}}", "is no JSON once it is filled in"),
            ("", "is no JSON"),
            // By chance they come out as JSON for some alerts.
            ("[{{tags.team}}]", "is no JSON once"),
            ("{\"a\": 1{{tags.team}}}", "is no JSON once"),
            ("\"\\{{source}}\"", "is no JSON once"),
            ("\"\\{{key}}\"", "is no JSON once"),
        ] {
            let error = Template::parse(template, "template").unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    proptest! {
        #[test]
        fn whatever_an_alert_says_json_comes_of_it(title in any::<String>(), message in any::<String>()) {
            let mut alert = sample();
            (alert.title, alert.message) = (title.clone(), message.clone());
            let rendered = render(r#"{"a": "{{title}}", "b": ["{{message}}", "{{title}} {{message}}"]}"#, &alert);
            prop_assert_eq!(&rendered["a"], &json!(title));
            prop_assert_eq!(&rendered["b"], &json!([message, format!("{title} {message}")]));
        }

        #[test]
        fn garbage_never_panics(text in "[{}a-z\\. \"]{0,40}") {
            let _ = Template::parse(&text, "template");
        }
    }
}
