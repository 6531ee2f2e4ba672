use std::collections::BTreeMap;
use std::sync::Arc;

use regex::Regex;

use super::membership::Assignment;
use super::sections::TopicSection;
use super::topic::{TopicEntry, TopicOptions, Topics};
use super::validate::in_range;
use crate::group::Subscription;
use crate::partition::Spawner;
use crate::policy::{Category, ConfigError, DeadLetterTopics, valid_topic_name};
use crate::supervisor::TopicName;

/// What a consumer processes, and how: entries whose names and options are checked.
#[derive(Clone)]
pub(super) struct Subscribed {
    pub(super) matches: TopicName,
    pub(super) options: TopicOptions,
    pub(super) spawner: Arc<dyn Spawner>,
}

impl Subscribed {
    /// The topic's name, unless it is a pattern.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.matches {
            TopicName::Exact(name) => Some(name),
            TopicName::Pattern(_) => None,
        }
    }
}

/// Checks what topics are to be processed, together with what a file says of them.
pub(super) fn parse(
    topics: Vec<TopicEntry>,
    mut file: BTreeMap<String, TopicSection>,
    assignment: Assignment,
) -> Result<Vec<Subscribed>, ConfigError> {
    if topics.is_empty() {
        let remedy = "add a topic with its decoder and handler: .topic(\"orders\", Json, factory)";
        return Err(ConfigError::new("topics", Vec::<String>::new(), "is empty", remedy));
    }
    let mut parsed = Vec::with_capacity(topics.len());
    for (index, entry) in topics.iter().enumerate() {
        let text = entry.topics.to_string();
        if topics[..index].iter().any(|other| other.topics == entry.topics) {
            let remedy = "give each topic once, with one handler";
            return Err(ConfigError::new("topics", text, "is given twice", remedy));
        }
        let matches = match &entry.topics {
            Topics::Named(name) => TopicName::Exact(named(name)?),
            Topics::Pattern(pattern) if assignment == Assignment::Manual => {
                let problem =
                    "is a pattern, for which the consumer must be a member of the group (assignment = \"group\")";
                let remedy = "name the topics, or leave assignment out";
                return Err(ConfigError::new("topic_pattern", pattern, problem, remedy));
            }
            Topics::Pattern(pattern) => TopicName::Pattern(compile(pattern)?),
        };
        let options = file.remove(&text).unwrap_or_default().below(entry.options.clone());
        check(&text, &options, assignment)?;
        parsed.push(Subscribed { matches, options, spawner: Arc::clone(&entry.spawner) });
    }
    match file.into_keys().next() {
        Some(stray) => {
            let texts: Vec<_> = topics.iter().map(|entry| entry.topics.to_string()).collect();
            let problem = format!("is none of the topics that the consumer processes ({})", texts.join(", "));
            Err(ConfigError::new("topics", stray, problem, "correct its name, or remove the section"))
        }
        None => Ok(parsed),
    }
}

fn named(name: &str) -> Result<String, ConfigError> {
    match valid_topic_name(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(problem) => Err(ConfigError::new("topics", name, problem, "give the topic's name as Kafka has it")),
    }
}

fn check(topic: &str, options: &TopicOptions, assignment: Assignment) -> Result<(), ConfigError> {
    if let Some(Some(limit)) = options.poison_timeout {
        in_range(&format!("topics.{topic}.poison_timeout"), limit, "30s, or switch it off")?;
    }
    let Some(partitions) = &options.partitions else { return Ok(()) };
    let setting = format!("topics.{topic}.partitions");
    if partitions.is_empty() {
        let remedy = "list the partitions to process, or leave the list out for all";
        return Err(ConfigError::new(setting, partitions, "is empty", remedy));
    }
    let doubled = partitions.iter().enumerate().find(|(at, p)| partitions[..*at].contains(p) || **p < 0);
    if let Some((_, partition)) = doubled {
        let remedy = "list each partition once; they count from 0";
        return Err(ConfigError::new(setting, partition, "is negative or listed twice", remedy));
    }
    if assignment != Assignment::Manual {
        let problem = "lists partitions, but the group divides them among its members (assignment = \"group\")";
        let remedy = "leave the list out, or set assignment to \"manual\": .assignment(Assignment::Manual)";
        return Err(ConfigError::new(setting, partitions, problem, remedy));
    }
    Ok(())
}

/// The regular expression that is `pattern` on the whole of a topic's name.
pub(super) fn compile(pattern: &str) -> Result<Regex, ConfigError> {
    let refused = |problem: String| {
        let remedy = "write a regular expression that matches whole names of topics, such as \"orders\\..*\"";
        ConfigError::new("topic_pattern", pattern, problem, remedy)
    };
    if pattern.is_empty() {
        return Err(refused("is an empty pattern".to_owned()));
    }
    // By itself first: so that an error shows what was written, and a parenthesis too many is not taken for the one here.
    Regex::new(pattern).map_err(|error| refused(format!("is no regular expression ({error})")))?;
    // The line break ends a comment, where comments are switched on by `(?x)`; elsewhere it would be one more character.
    let whole = Regex::new(&format!("^(?:{pattern})$")).or_else(|_| Regex::new(&format!("^(?:{pattern}\n)$")));
    whole.map_err(|error| refused(format!("is no regular expression ({error})")))
}

/// Refuses a dead-letter topic that is the topic itself, where the topics are not known beforehand.
pub(super) fn check_dead_letters(topics: &DeadLetterTopics) -> Result<(), ConfigError> {
    match Category::ALL.into_iter().find(|category| topics.topic_for("", *category).is_empty()) {
        Some(category) => {
            let setting = format!("dead_letter_topics.{category}");
            let problem = "sends the dead letters of a pattern's topics back to them";
            Err(ConfigError::new(setting, "", problem, "choose a suffix, such as \".dlq\""))
        }
        None => Ok(()),
    }
}

/// What the group subscribes to: the names and patterns, without the topics that this consumer's dead letters go to.
pub(super) fn subscription(topics: &[Subscribed], dead_letters: &DeadLetterTopics) -> Subscription {
    let names = topics.iter().filter_map(Subscribed::name).map(str::to_owned).collect();
    let patterns = topics.iter().filter_map(|topic| match &topic.matches {
        TopicName::Pattern(pattern) => Some(pattern.clone()),
        TopicName::Exact(_) => None,
    });
    let sources: Vec<TopicName> = topics.iter().map(|topic| topic.matches.clone()).collect();
    let dead_letters = dead_letters.clone();
    Subscription::new(
        names,
        patterns.collect(),
        Arc::new(move |topic| has_dead_letters(&sources, &dead_letters, topic)),
    )
}

/// Whether the dead letters of a topic that is read would go to `topic`.
fn has_dead_letters(sources: &[TopicName], dead_letters: &DeadLetterTopics, topic: &str) -> bool {
    dead_letters.sources_of(topic).any(|name| sources.iter().any(|source| source.matches(name)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::handler::{Delivery, Failure, Raw, handler_fn};
    use crate::partition::TypedSpawner;
    use crate::record::Record;

    fn entry(topics: Topics, options: TopicOptions) -> TopicEntry {
        let handler = handler_fn(|_: Record, _: Delivery| async { Ok::<(), Failure>(()) });
        TopicEntry { topics, options, spawner: Arc::new(TypedSpawner::new(Raw, handler)) }
    }

    fn name(name: &str) -> TopicEntry {
        entry(Topics::Named(name.to_owned()), TopicOptions::new())
    }

    fn pattern(pattern: &str) -> TopicEntry {
        entry(Topics::Pattern(pattern.to_owned()), TopicOptions::new())
    }

    fn refused(topics: Vec<TopicEntry>, assignment: Assignment) -> ConfigError {
        parse(topics, BTreeMap::new(), assignment).map(|topics| topics.len()).unwrap_err()
    }

    #[test]
    fn what_needs_the_other_assignment_is_refused() {
        let listed = entry(Topics::Named("orders".to_owned()), TopicOptions::new().partitions([0, 2]));
        assert!(parse(vec![listed.clone()], BTreeMap::new(), Assignment::Manual).is_ok());
        let error = refused(vec![listed], Assignment::Group);
        assert_eq!((error.setting.as_str(), error.value.as_str()), ("topics.orders.partitions", "[0, 2]"));
        assert!(error.remedy.contains("Assignment::Manual"), "{error}");

        assert!(parse(vec![pattern("orders.*")], BTreeMap::new(), Assignment::Group).is_ok());
        let error = refused(vec![pattern("orders.*")], Assignment::Manual);
        assert_eq!((error.setting.as_str(), error.value.as_str()), ("topic_pattern", "\"orders.*\""));
        assert_eq!(refused(vec![name("orders"), pattern("a"), pattern("a")], Assignment::Group).value, "\"a\"");
    }

    #[test]
    fn code_comes_before_the_file_and_a_stray_section_is_refused() {
        let section = |text| toml::from_str::<BTreeMap<String, TopicSection>>(text).unwrap();
        let file = section("[orders]\npoison_timeout = \"off\"\npartitions = [1]\n[refunds]\npoison_timeout = \"5s\"");
        let code = TopicOptions::new().poison_timeout(Some(Duration::from_secs(1)));
        let topics = vec![entry(Topics::Named("orders".to_owned()), code), name("refunds")];
        let parsed = parse(topics.clone(), file.clone(), Assignment::Manual).map_err(|error| error.to_string());
        let options: Vec<_> = parsed.unwrap().into_iter().map(|topic| topic.options).collect();
        let expected = TopicOptions::new().poison_timeout(Some(Duration::from_secs(1))).partitions([1]);
        assert_eq!(options[0], expected);
        assert_eq!(options[1], TopicOptions::new().poison_timeout(Some(Duration::from_secs(5))));

        let error = parse(vec![name("orders")], file, Assignment::Manual).map(|_| ()).unwrap_err();
        assert!(error.to_string().starts_with("topics = \"refunds\" is none of the topics"), "{error}");
        assert_eq!(section("[a]\npoison_timeout = \"off\"")["a"].poison_timeout, Some(None));
    }

    #[test]
    fn the_dead_letters_of_what_is_read_are_not_read() {
        let topics = parse(vec![name("orders"), pattern("eu-.*")], BTreeMap::new(), Assignment::Group).ok().unwrap();
        let letters = DeadLetterTopics::single().suffix(Category::Poison, "-dead");
        let sources: Vec<_> = topics.into_iter().map(|topic| topic.matches).collect();
        for (topic, excluded) in [("orders-dead", true), ("eu-a-dead", true), ("eu-a", false), ("other-dead", false)] {
            assert_eq!(has_dead_letters(&sources, &letters, topic), excluded, "{topic}");
        }
        assert_eq!(check_dead_letters(&letters), Ok(()));
        let error = check_dead_letters(&letters.suffix(Category::Unknown, "")).unwrap_err();
        assert_eq!(error.setting, "dead_letter_topics.unknown");
    }

    #[test]
    fn a_pattern_matches_whole_names() {
        let matches = |pattern, name| compile(pattern).unwrap().is_match(name);
        assert!(matches(r"orders\..*", "orders.eu") && !matches(r"orders\..*", "old.orders.eu"));
        assert!(matches("a|b", "b") && !matches("a|b", "ab"));
        assert!(matches("(?x) or ders # the main ones", "orders") && matches("(?i)ORDERS", "orders"));
    }

    #[test]
    fn a_pattern_that_cannot_be_is_shown_as_it_was_written() {
        for pattern in ["", "orders(", "orders)|(", "*"] {
            let error = compile(pattern).unwrap_err();
            assert_eq!((error.setting, error.value), ("topic_pattern".to_owned(), format!("{pattern:?}")));
            assert!(error.remedy.contains("whole names of topics"), "{}", error.remedy);
        }
    }
}
