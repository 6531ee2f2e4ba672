use super::post::hide;
use super::*;

#[test]
fn no_secret_is_shown() {
    let webhook = Webhook::slack("https://hooks.example/services/T000/hunter2")
        .header("X-Key", "hunter2")
        .bearer_token("hunter2");
    assert_eq!(format!("{webhook:?}"), "Webhook(slack at hooks.example)");
    let (_, secrets) = webhook.inner.post(&custom::sample()).unwrap();
    let said = hide("no route /services/T000/hunter2 for Bearer hunter2, hunter2".to_owned(), &secrets);
    assert_eq!(said, "no route … for Bearer …, …");
    let pagerduty = Webhook::pagerduty("0123456789abcdef");
    assert_eq!(format!("{pagerduty:?}"), "Webhook(pagerduty at events.pagerduty.com)");
    let (_, secrets) = pagerduty.inner.post(&custom::sample()).unwrap();
    assert_eq!(hide("bad key 0123456789abcdef".to_owned(), &secrets), "bad key …");
}

#[test]
fn a_webhook_hears_of_what_is_bad_enough_and_that_it_is_over() {
    use crate::monitor::alert::AlertState::{Firing, Resolved};
    use Severity::{Critical, Info, Warning};
    let webhook = Webhook::json("http://h/").least(Critical);
    let wants =
        |state, severity, previous| webhook.inner.wants(&Alert { state, severity, previous, ..custom::sample() });
    assert!(wants(Firing, Critical, None));
    assert!(!wants(Firing, Warning, None));
    assert!(wants(Firing, Warning, Some(Critical)), "it opened an incident before");
    assert!(!wants(Firing, Warning, Some(Warning)));
    assert!(wants(Resolved, Info, Some(Critical)));
    assert!(!wants(Resolved, Info, Some(Warning)));
}

#[test]
fn what_cannot_be_sent_is_found_at_the_start() {
    let error = |webhook: Webhook| webhook.check().unwrap_err().to_string();
    assert!(error(Webhook::json("")).starts_with("webhook.url = \"\" is empty: give the address"));
    assert!(error(Webhook::json("http://h/").header("no header", "x")).contains("webhook.header = \"…\" is no name"));
    assert!(error(Webhook::json("http://h/").bearer_token("a\nb")).contains("webhook.bearer_token = \"…\" cannot be"));
    assert!(error(Webhook::json("http://h/").timeout(Duration::ZERO)).starts_with("webhook.timeout"));
    #[cfg(feature = "tls")]
    assert!(
        error(Webhook::json("https://h/").ca_file("/no/such"))
            .starts_with("webhook.ca_file = \"/no/such\" cannot be read")
    );
    #[cfg(not(feature = "tls"))]
    assert!(error(Webhook::json("https://h/")).contains("feature `tls`"));
    assert_eq!(Webhook::json("http://h/").check(), Ok(()));
}
