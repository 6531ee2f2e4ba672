//! What the log says of a replay: one event for each letter, with its id, its place and where it goes.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use bezoar::dead_letter::short_id;
use bezoar::replay::{Fixed, Selection};
use tracing_subscriber::fmt::MakeWriter;

use crate::stand::{Stand, options};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    /// The lines since the last call that name a dead letter.
    fn take(&self, place: &str) -> Vec<String> {
        let text = String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap();
        text.lines().filter(|line| line.contains(place)).map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn each_replay_dry_run_failure_and_discard_is_one_event() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(log.clone()).finish();
    // For all threads: what other tests log names other letters.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..3).await;
    let (place, id) = (stand.at(0, 0).to_string(), short_id(&stand.source, 0, 0));
    let target = format!("{}/0", stand.source);
    let this = Selection::These(vec![stand.at(0, 0)]);
    let only = |what: &str, level: &str, goes_to: &str| {
        let lines = log.take(&place);
        let [line] = &lines[..] else { panic!("{what}: {lines:?}") };
        for part in [id.as_str(), goes_to, what, level] {
            assert!(line.contains(part), "{what}: no {part} in {line}");
        }
    };
    stand.replay_these(&this, &options(|options| options.dry_run = true)).await;
    only("dry run", "INFO", &target);
    let fix = Arc::new(|_: &bezoar::replay::Entry, _: Fixed| Err("no".to_owned()));
    stand.replay_these(&this, &options(|options| options.fix = Some(fix))).await;
    only("the fix failed: no", "WARN", &stand.source);
    let gone = crate::fixture::unique("gone");
    let failing = options(|options| {
        options.target = Some(gone.as_str().into());
        options.allowed_targets = vec![gone.as_str().into()];
    });
    stand.replay_these(&this, &failing).await;
    only("does not exist", "WARN", &gone);
    stand.replay_these(&this, &options(|_| {})).await;
    only("dead letter replayed", "INFO", &target);

    let (place, id) = (stand.at(0, 1).to_string(), short_id(&stand.source, 0, 1));
    let letters = stand.letters().await;
    letters.discard(&Selection::These(vec![stand.at(0, 1)]), "harmless").await.unwrap();
    let lines = log.take(&place);
    assert!(
        matches!(&lines[..], [line] if line.contains("discarded") && line.contains(&id) && line.contains("harmless")),
        "{lines:?}"
    );
}
