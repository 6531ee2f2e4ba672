use std::sync::Arc;

use crate::policy::Category;
use crate::replay::marks;
use crate::replay::{ReplayOptions, Skip};

/// The source that the name of a dead-letter topic vouches for: `orders` for `orders.dlq` and `orders.dlq.poison`, and for no
/// other names. Whoever may write to a dead-letter topic can put any source into a dead letter, but cannot name the topic.
pub(crate) fn vouched_source(dead_letters: &str) -> Option<&str> {
    let source = dead_letters.strip_suffix(".dlq").or_else(|| {
        let (rest, category) = dead_letters.rsplit_once('.')?;
        let known = Category::ALL.iter().any(|known| known.to_string() == category);
        rest.strip_suffix(".dlq").filter(|_| known)
    });
    source.filter(|source| !source.is_empty())
}

/// Where a dead letter is sent: `source` is what it says of itself, `reading` are the topics that are replayed.
pub(super) fn choose(
    (dead_letters, source): (&str, Option<&Arc<str>>),
    reading: &[Arc<str>],
    options: &ReplayOptions,
) -> Result<Arc<str>, Skip> {
    let target = options.target.as_ref().or(source).ok_or(Skip::NoSource)?;
    if !is_allowed(dead_letters, target, reading, options) {
        return Err(Skip::NotAllowed(target.to_string()));
    }
    Ok(Arc::clone(target))
}

/// Whether the original of a dead letter may be fetched from the topic that it names: whoever wrote it would else have records sent
/// on that they may not read themselves.
pub(super) fn may_fetch(dead_letters: &str, source: &str, reading: &[Arc<str>], options: &ReplayOptions) -> bool {
    is_allowed(dead_letters, source, reading, options)
}

fn is_allowed(dead_letters: &str, topic: &str, reading: &[Arc<str>], options: &ReplayOptions) -> bool {
    // These are being read, or hold the bookkeeping: nobody can mean them.
    let never = reading.iter().any(|reading| **reading == *topic)
        || topic == dead_letters
        || topic.ends_with(marks::SUFFIX)
        || topic.starts_with("__")
        || topic.is_empty();
    let allowed = options.allowed_targets.iter().any(|allowed| **allowed == *topic);
    !never && (allowed || vouched_source(dead_letters) == Some(topic))
}

/// What somebody should know of a target: that a topic of this name is one of retries or dead letters, whose readers expect
/// more than the plain record.
pub(super) fn warning(target: &str) -> Option<String> {
    let name = target.to_ascii_lowercase();
    let parts: Vec<&str> = name.split(['.', '-', '_']).collect();
    let is = |kinds: &[&str]| parts.iter().any(|part| kinds.contains(part));
    let kind = if is(&["dlq", "dlt", "deadletter", "deadletters"]) || name.contains("dead-letter") {
        "dead letters"
    } else if is(&["retry", "retries"]) {
        "retries"
    } else {
        return None;
    };
    Some(format!(
        "{target} looks like a topic of {kind}: does its reader take records without the headers that it adds?"
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chosen(dead_letters: &str, source: Option<&str>, options: &ReplayOptions) -> Result<String, Skip> {
        let source = source.map(Arc::from);
        let reading = [Arc::from(dead_letters)];
        choose((dead_letters, source.as_ref()), &reading, options).map(|target| target.to_string())
    }

    #[test]
    fn only_our_own_naming_vouches_for_a_source() {
        let vouched = |name| vouched_source(name);
        assert_eq!(vouched("orders.dlq"), Some("orders"));
        assert_eq!(vouched("orders.eu.dlq.poison"), Some("orders.eu"));
        assert_eq!(vouched("orders.dlq.dlq"), Some("orders.dlq"));
        assert_eq!(vouched("orders.dlq.poison.dlq"), Some("orders.dlq.poison"));
        for name in
            [".dlq", ".dlq.poison", "dlq", "orders", "orders-dlq", "orders.dlq.", "orders.dlq.x", "orders.poison"]
        {
            assert_eq!(vouched(name), None, "{name}");
        }
    }

    #[test]
    fn a_forged_source_goes_nowhere() {
        let options = ReplayOptions::default();
        assert_eq!(chosen("orders.dlq", Some("orders"), &options), Ok("orders".to_owned()));
        for forged in ["payments", "orders.dlq", "orders.dlq.replays", "__consumer_offsets", "", "order", "orders."] {
            assert_eq!(chosen("orders.dlq", Some(forged), &options), Err(Skip::NotAllowed(forged.to_owned())));
        }
        assert_eq!(chosen("graveyard", Some("orders"), &options), Err(Skip::NotAllowed("orders".to_owned())));
        assert_eq!(chosen("orders.dlq", None, &options), Err(Skip::NoSource));
    }

    #[test]
    fn a_named_target_must_be_allowed_too() {
        let mut options = ReplayOptions { target: Some("fixed".into()), ..ReplayOptions::default() };
        assert_eq!(chosen("orders.dlq", None, &options), Err(Skip::NotAllowed("fixed".to_owned())));
        options.allowed_targets = vec!["fixed".into()];
        assert_eq!(chosen("orders.dlq", None, &options), Ok("fixed".to_owned()));
        // The dead letter's own word counts for nothing then.
        assert_eq!(chosen("orders.dlq", Some("payments"), &options), Ok("fixed".to_owned()));
        options.target = Some("orders".into());
        assert_eq!(chosen("orders.dlq", None, &options), Ok("orders".to_owned()));
    }

    #[test]
    fn some_topics_are_no_target_even_if_they_are_allowed() {
        for target in ["orders.dlq", "orders.dlq.replays", "payments.dlq.replays", "__transaction_state"] {
            let allowed_targets = vec![target.into()];
            let options = ReplayOptions { target: Some(target.into()), allowed_targets, ..ReplayOptions::default() };
            assert_eq!(chosen("orders.dlq", None, &options), Err(Skip::NotAllowed(target.to_owned())));
        }
    }

    #[test]
    fn topics_of_retries_and_dead_letters_are_warned_of() {
        for name in
            ["orders.dlq", "orders.fulfilment.retry.10m", "orders-dlt", "orders-retry-0", "dead-letter-topic-in"]
        {
            assert!(warning(name).is_some(), "{name}");
        }
        for name in ["orders", "retrying", "undltd", "orders.v2"] {
            assert_eq!(warning(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_the_vouched_source_is_ever_chosen_by_default(dead_letters in "[a-z.]{1,12}(\\.dlq(\\.(poison|unknown|x))?)?", source in "[a-z.]{0,20}") {
            if let Ok(target) = chosen(&dead_letters, Some(&source), &ReplayOptions::default()) {
                prop_assert_eq!(Some(target.as_str()), vouched_source(&dead_letters));
            }
        }
    }
}
