use std::collections::BTreeSet;

use bezoar::metrics::names::{self, Kind, Metric};
use regex::Regex;
use serde_json::Value;

const TABLE: &str = include_str!("../../docs/metrics.md");
const DASHBOARD: &str = include_str!("../../docs/grafana-dashboard.json");
const ALERTS: &str = include_str!("../../docs/prometheus-alerts.yml");

/// The metric that a name in an expression means: histograms have three.
fn metric(name: &str) -> &'static Metric {
    let found = names::ALL.iter().find(|metric| match metric.kind {
        Kind::Histogram => ["_bucket", "_sum", "_count"].iter().any(|end| name == format!("{}{end}", metric.name)),
        _ => name == metric.name,
    });
    found.unwrap_or_else(|| panic!("no metric is called {name}"))
}

/// Checks an expression: its metrics, the labels that they are chosen by, and those that the result is grouped by. Returns the
/// metrics' names.
fn check(expression: &str) -> BTreeSet<&'static str> {
    let selector = Regex::new(r"(bezoar_\w+)(?:\{([^}]*)\})?").unwrap();
    let matcher = Regex::new(r#"(\w+)\s*(?:=~|!~|!=|=)\s*"[^"]*""#).unwrap();
    let metrics: Vec<_> = selector.captures_iter(expression).map(|found| (metric(&found[1]), found.get(2))).collect();
    assert!(!metrics.is_empty(), "no metric in {expression}");
    for (metric, labels) in &metrics {
        for label in labels.iter().flat_map(|labels| matcher.captures_iter(labels.as_str())) {
            assert!(metric.labels.contains(&&label[1]), "{} has no label {}: {expression}", metric.name, &label[1]);
        }
    }
    let grouping = Regex::new(r"by \(([^)]*)\)").unwrap();
    for label in grouping.captures_iter(expression).flat_map(|found| labels(&found[1])) {
        let known = metrics.iter().all(|(metric, _)| {
            metric.labels.contains(&label.as_str()) || (label == "le" && metric.kind == Kind::Histogram)
        });
        assert!(known, "not all have a label {label}: {expression}");
    }
    metrics.iter().map(|(metric, _)| metric.name).collect()
}

fn labels(list: &str) -> Vec<String> {
    list.split(',').map(|label| label.trim().to_owned()).collect()
}

/// The labels that a template such as `{{topic}}` or `{{ $labels.topic }}` names are among those that the expression groups by.
fn check_template(template: &str, expression: &str) {
    let grouping = Regex::new(r"by \(([^)]*)\)").unwrap();
    let grouped: BTreeSet<_> = grouping.captures_iter(expression).flat_map(|found| labels(&found[1])).collect();
    let named = Regex::new(r"\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}").unwrap();
    for label in named.captures_iter(template) {
        assert!(grouped.contains(&label[1]), "{} is not in the result of {expression}", &label[1]);
    }
}

#[test]
fn the_table_has_each_metric_as_it_is_in_the_code() {
    let row = Regex::new(r"(?m)^\| `(bezoar_\w+)` \| (\w+) \| ([^|]*) \| (\w+) \| [^|]+ \| [^|]+ \|$").unwrap();
    let code = Regex::new(r"`(\w+)`").unwrap();
    let rows: Vec<_> = row.captures_iter(TABLE).collect();
    let documented: Vec<_> = rows.iter().map(|row| row[1].to_owned()).collect();
    assert_eq!(documented, names::ALL.iter().map(|metric| metric.name).collect::<Vec<_>>());
    for (row, metric) in rows.iter().zip(names::ALL) {
        assert_eq!(row[2], format!("{:?}", metric.kind).to_lowercase(), "{}", metric.name);
        let labels: Vec<_> = code.captures_iter(&row[3]).map(|label| label[1].to_owned()).collect();
        assert_eq!(labels, metric.labels, "{}", metric.name);
        assert_eq!(&row[4] == "seconds", metric.name.ends_with("_seconds"), "{}", metric.name);
    }
    for name in Regex::new(r"bezoar_\w+").unwrap().find_iter(TABLE) {
        assert!(names::ALL.iter().any(|metric| metric.name == name.as_str()), "{} is no metric", name.as_str());
    }
}

#[test]
fn the_dashboard_shows_metrics_that_there_are() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut shown = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "each panel has an id of its own: {panel}");
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().unwrap();
            shown.extend(check(expression));
            check_template(target["legendFormat"].as_str().unwrap(), expression);
        }
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let Some(query) = variable["definition"].as_str() else { continue };
        check(query);
        let label = query.trim_end_matches(')').rsplit(", ").next().unwrap();
        assert!(names::PARTITIONS.labels.contains(&label), "{query}");
    }
    let all: BTreeSet<_> = names::ALL.iter().map(|metric| metric.name).collect();
    assert_eq!(shown, all, "each metric is shown somewhere");
}

#[test]
fn the_alert_rules_look_at_metrics_that_there_are() {
    // One rule after the other, one line for each expression: no reader of YAML is needed for that.
    let name = Regex::new(r"bezoar_\w+").unwrap();
    let (mut rules, mut watched) = (BTreeSet::new(), BTreeSet::new());
    let mut expression = None;
    for line in ALERTS.lines().filter(|line| !line.starts_with('#')) {
        let line = line.trim_start();
        if let Some(rule) = line.strip_prefix("- alert: ") {
            assert!(rules.insert(rule), "{rule} is there twice");
            expression = None;
        } else if let Some(found) = line.strip_prefix("expr: ") {
            watched.extend(check(found));
            expression = Some(found);
        } else if let Some((_, text)) =
            line.split_once(": ").filter(|(key, _)| matches!(*key, "summary" | "description"))
        {
            check_template(text, expression.expect("the expression comes first"));
            for name in name.find_iter(text) {
                assert!(names::ALL.iter().any(|metric| metric.name == name.as_str()), "{text}");
            }
        }
    }
    let wanted =
        [&names::DEPTH, &names::PARTITIONS, &names::LAG, &names::RESTARTS, &names::COMMIT_FAILURES, &names::HANDLED];
    for metric in wanted {
        assert!(watched.contains(metric.name), "no rule looks at {}", metric.name);
    }
    assert_eq!(rules.len(), ALERTS.matches("expr: ").count());
    // Words that the rules choose by.
    for word in ["held", "stopped", "failure", "all"] {
        assert!(ALERTS.contains(&format!("=\"{word}\"")), "{word}");
    }
}
