use clap::Args;

use crate::broker::Admin;
use crate::cli::exit::CliError;

/// The dead-letter topics that a command is for.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = true)]
pub(in crate::cli) struct TopicArgs {
    /// Dead-letter topics: names, or patterns such as 'orders.dlq*' (in quotes) in which * stands for any text
    #[arg(value_name = "TOPIC")]
    pub(in crate::cli) topics: Vec<String>,

    /// The dead-letter topics of this source topic: TOPIC.dlq and TOPIC.dlq.*, as far as they exist
    #[arg(long, value_name = "TOPIC")]
    pub(in crate::cli) source: Vec<String>,
}

impl TopicArgs {
    /// The names of the topics, all of which exist, in order.
    pub(in crate::cli) async fn resolve(&self, admin: &dyn Admin) -> Result<Vec<String>, CliError> {
        let all = admin.list_topics().await?;
        choose(&all, &self.topics, &self.source).map_err(CliError::nothing)
    }
}

/// The dead-letter topics among `all` that are meant, each once.
fn choose(all: &[String], topics: &[String], sources: &[String]) -> Result<Vec<String>, String> {
    let mut chosen = Vec::new();
    for topic in topics {
        if topic.contains('*') {
            let found: Vec<_> = all.iter().filter(|name| fits(topic, name) && !is_replays(name)).cloned().collect();
            if found.is_empty() {
                return Err(format!("no topic fits {topic:?}: `bezoar topics` lists all"));
            }
            chosen.extend(found);
        } else if all.contains(topic) {
            chosen.push(topic.clone());
        } else {
            return Err(format!("topic {topic:?} does not exist{}: `bezoar topics` lists all", alike(all, topic)));
        }
    }
    for source in sources {
        let (single, per_category) = (format!("{source}.dlq"), format!("{source}.dlq."));
        let is_of = |name: &&String| **name == single || name.starts_with(&per_category) && !is_replays(name);
        let found: Vec<_> = all.iter().filter(is_of).cloned().collect();
        if found.is_empty() {
            return Err(format!(
                "there is neither a topic {single} nor one that begins with {per_category}: give the dead-letter topics of \
                 {source} by their names (`bezoar topics` lists all)"
            ));
        }
        chosen.extend(found);
    }
    chosen.sort();
    chosen.dedup();
    Ok(chosen)
}

/// The topic whose name is most like `topic`, as the error says it.
fn alike(all: &[String], topic: &str) -> String {
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    match similar::get_close_matches(topic, &names, 1, 0.7).first() {
        Some(name) => format!(" (did you mean {name:?}?)"),
        None => String::new(),
    }
}

/// Whether a topic holds the marks of replays.
fn is_replays(topic: &str) -> bool {
    topic.ends_with(".replays")
}

/// Whether a topic is one for dead letters by the default names.
pub(in crate::cli) fn is_dead_letter_topic(topic: &str) -> bool {
    (topic.ends_with(".dlq") || topic.contains(".dlq.")) && !is_replays(topic)
}

/// Whether `name` fits the pattern, in which each `*` stands for any text, the empty one too.
pub(in crate::cli) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(found) = rest.find(part) else { return false };
        rest = &rest[found + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(topics: &[&str], sources: &[&str]) -> Result<Vec<String>, String> {
        let all = [
            "orders",
            "orders.dlq",
            "orders.dlq.poison",
            "orders.dlq.poison.replays",
            "orders.dlq.replays",
            "orders.dlqx",
            "paid.dlq",
        ];
        let owned = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        choose(&owned(&all), &owned(topics), &owned(sources))
    }

    #[test]
    fn topics_are_meant_by_name_pattern_or_source() {
        assert_eq!(chosen(&["paid.dlq", "orders"], &[]).unwrap(), ["orders", "paid.dlq"]);
        assert_eq!(chosen(&["*.dlq*"], &[]).unwrap(), ["orders.dlq", "orders.dlq.poison", "orders.dlqx", "paid.dlq"]);
        assert_eq!(chosen(&["orders.dlq"], &["orders"]).unwrap(), ["orders.dlq", "orders.dlq.poison"]);
        // The marks can be looked at by their own name.
        assert_eq!(chosen(&["orders.dlq.replays"], &[]).unwrap(), ["orders.dlq.replays"]);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        assert!(chosen(&["order.dlq"], &[]).unwrap_err().contains("did you mean \"orders.dlq\"?"));
        assert!(chosen(&["x*"], &[]).unwrap_err().contains("no topic fits"));
        assert!(chosen(&[], &["refunds"]).unwrap_err().contains("refunds.dlq"));
    }

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name) in
            [("*", ""), ("a*", "a"), ("a*c", "abc"), ("*b*", "abc"), ("a*b*a", "aba"), ("abc", "abc")]
        {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a*", "ba"), ("a*a", "a"), ("*b*b", "ab"), ("abc", "abcd")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
