use std::collections::BTreeMap;

use super::*;
use crate::broker::BoxFuture;
use crate::monitor::alert::{AlertKind, AlertState, Severity};

pub(crate) fn alert(title: &str) -> Arc<Alert> {
    Arc::new(Alert {
        key: "bezoar/depth/a".into(),
        kind: AlertKind::Depth,
        state: AlertState::Firing,
        severity: Severity::Warning,
        previous: None,
        page: false,
        title: title.to_owned(),
        message: String::new(),
        tags: BTreeMap::new(),
        source: "me".into(),
        since: 0,
        at: 0,
        until: 0,
    })
}

/// Does what its script says, attempt by attempt, and then takes all.
struct Scripted {
    script: Mutex<VecDeque<Step>>,
    taken: Arc<Mutex<Vec<String>>>,
}

enum Step {
    Fail(SinkError),
    Panic,
    Hang,
}

impl Sink for Scripted {
    fn name(&self) -> String {
        "scripted".to_owned()
    }

    fn send(&self, alert: Arc<Alert>) -> BoxFuture<Result<(), SinkError>> {
        let step = self.script.lock().unwrap().pop_front();
        let taken = Arc::clone(&self.taken);
        Box::pin(async move {
            match step {
                Some(Step::Fail(error)) => return Err(error),
                Some(Step::Panic) => panic!("no connection"),
                Some(Step::Hang) => std::future::pending().await,
                None => taken.lock().unwrap().push(alert.title.clone()),
            }
            Ok(())
        })
    }
}

fn outbox(script: impl IntoIterator<Item = Step>) -> (Outbox, Arc<Mutex<Vec<String>>>) {
    crate::isolation::guard::install_hook(false);
    let taken = Arc::default();
    let sink = Scripted { script: Mutex::new(script.into_iter().collect()), taken: Arc::clone(&taken) };
    (Outbox::new(Arc::new(sink), &Handle::current()), taken)
}

#[tokio::test(start_paused = true)]
async fn what_fails_hangs_and_panics_is_tried_again_in_order() {
    let wait = Duration::from_secs(300);
    let steps =
        [Step::Fail(SinkError::temporary("down")), Step::Hang, Step::Panic, Step::Fail(SinkError::after("busy", wait))];
    let (outbox, taken) = outbox(steps);
    let start = Instant::now();
    for title in ["one", "two", "three"] {
        outbox.push(alert(title));
    }
    while taken.lock().unwrap().len() < 3 {
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(*taken.lock().unwrap(), ["one", "two", "three"]);
    let took = start.elapsed();
    assert!(took >= SEND + wait && took < SEND + wait + Duration::from_secs(30), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_alert_holds_up_no_other() {
    let (outbox, taken) = outbox([Step::Fail(SinkError::permanent("bad request"))]);
    outbox.push(alert("one"));
    outbox.push(alert("two"));
    outbox.close(Instant::now() + FLUSH);
    outbox.ended().await;
    assert_eq!(*taken.lock().unwrap(), ["two"]);
}

#[tokio::test(start_paused = true)]
async fn from_a_full_queue_the_oldest_goes() {
    let (outbox, taken) = outbox([Step::Fail(SinkError::after("busy", Duration::from_secs(60)))]);
    outbox.push(alert("first"));
    sleep(Duration::from_millis(1)).await;
    for number in 0..CAPACITY + 10 {
        outbox.push(alert(&number.to_string()));
    }
    assert_eq!(outbox.shared.queue().lost, 10);
    while taken.lock().unwrap().len() < CAPACITY + 1 {
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(taken.lock().unwrap()[..2], ["first", "10"]);
    assert_eq!(outbox.shared.queue().lost, 0);
}

#[tokio::test(start_paused = true)]
async fn the_end_is_waited_for_briefly() {
    let (outbox, taken) = outbox([Step::Hang]);
    outbox.push(alert("one"));
    outbox.push(alert("two"));
    let start = Instant::now();
    outbox.close(start + FLUSH);
    outbox.ended().await;
    assert!(start.elapsed() <= FLUSH + Duration::from_millis(10), "{:?}", start.elapsed());
    assert!(taken.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_left_is_passed_on_at_the_end() {
    let (outbox, taken) = outbox([]);
    let shared = Arc::clone(&outbox.shared);
    for title in ["one", "two"] {
        outbox.push(alert(title));
    }
    drop(outbox);
    let _ = shared.ended.subscribe().wait_for(|ended| *ended).await;
    assert_eq!(*taken.lock().unwrap(), ["one", "two"]);
}
