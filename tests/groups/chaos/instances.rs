use std::path::PathBuf;
use std::process::Stdio;

use rand::Rng;
use rand::rngs::StdRng;
use tokio::process::{Child, Command};
use tokio::time::{Duration, Instant, timeout};

use crate::instance::Setting;
use crate::journal::{Journal, What};

/// Up to five instances that come and go.
pub(crate) struct Instances {
    pub(crate) slots: Vec<Slot>,
    /// What all have in common; `who` and the instance id are each one's own.
    setting: Setting,
    journal: Journal,
}

/// A place for an instance, one life after the other.
pub(crate) struct Slot {
    name: usize,
    lives: u32,
    instance_id: Option<String>,
    process: Option<Child>,
    pub(crate) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum State {
    Empty,
    Runs,
    /// By SIGSTOP, until then.
    Stopped(Instant),
    /// Was asked to end.
    Leaves,
}

impl Instances {
    /// Slots for five, none of which runs. Some are static members.
    pub(crate) fn new(setting: Setting, journal: Journal, random: &mut StdRng) -> Self {
        let slot = |name| {
            let is_static = random.random_ratio(1, 3);
            let instance_id = is_static.then(|| format!("{}-{name}", setting.group));
            Slot { name, lives: 0, instance_id, process: None, state: State::Empty }
        };
        let slots = (1..=5).map(slot).collect();
        Self { slots, setting, journal }
    }

    fn folder(&self) -> &PathBuf {
        &self.setting.folder
    }

    /// The slots in a state that `wanted` holds of.
    pub(crate) fn which(&self, wanted: impl Fn(State) -> bool) -> Vec<usize> {
        (0..self.slots.len()).filter(|&slot| wanted(self.slots[slot].state)).collect()
    }

    pub(crate) fn start(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        slot.lives += 1;
        let mut setting = self.setting.clone();
        setting.who = slot.who();
        setting.membership.instance_id = slot.instance_id.clone();
        self.journal.tell(format!("starts {} as {:?}", setting.who, slot.instance_id));
        slot.process = Some(setting.spawn());
        slot.state = State::Runs;
    }

    pub(crate) async fn kill(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        if let Some(mut process) = slot.process.take() {
            process.kill().await.unwrap();
            self.journal.note(What::Killed(slot.who()));
        }
        slot.state = State::Empty;
    }

    pub(crate) async fn stop(&mut self, slot: usize, until: Instant) {
        let slot = &mut self.slots[slot];
        slot.signal("-STOP").await;
        self.journal.note(What::Stopped(slot.who()));
        slot.state = State::Stopped(until);
    }

    /// Lets those go on whose time has come by `now`.
    pub(crate) async fn go_on(&mut self, now: Option<Instant>) {
        for slot in &mut self.slots {
            if let State::Stopped(until) = slot.state
                && now.is_none_or(|now| now >= until)
            {
                self.journal.note(What::Continued(slot.who()));
                slot.signal("-CONT").await;
                slot.state = State::Runs;
            }
        }
    }

    pub(crate) async fn leave(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        self.journal.tell(format!("asks {} to leave", slot.who()));
        slot.signal("-TERM").await;
        slot.state = State::Leaves;
    }

    /// Empties the slots of those that have ended; an error where one has that was not asked to.
    pub(crate) fn reap(&mut self) -> Result<(), String> {
        for slot in &mut self.slots {
            let Some(process) = &mut slot.process else { continue };
            let Some(status) = process.try_wait().unwrap() else { continue };
            let (who, asked) = (slot.who(), slot.state == State::Leaves);
            (slot.process, slot.state) = (None, State::Empty);
            if !asked || !status.success() {
                let log = self.setting.folder.join(format!("instance-{who}.log"));
                return Err(format!("instance {who} ended with {status}, asked to leave: {asked}; {}", tail(&log)));
            }
        }
        Ok(())
    }

    /// Asks all to leave, and waits until they have.
    pub(crate) async fn end(&mut self, patience: Duration) -> Result<(), String> {
        self.go_on(None).await;
        for slot in self.which(|state| state == State::Runs) {
            self.leave(slot).await;
        }
        let gone = timeout(patience, async {
            while !self.which(|state| state != State::Empty).is_empty() {
                self.reap()?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        });
        let gone = gone.await;
        gone.unwrap_or_else(|_| {
            let left: Vec<String> = self.slots.iter().filter(|slot| slot.process.is_some()).map(Slot::who).collect();
            let logs: Vec<String> =
                left.iter().map(|who| tail(&self.folder().join(format!("instance-{who}.log")))).collect();
            Err(format!("instances {left:?} do not end within {patience:?}; {}", logs.join("\n")))
        })
    }
}

impl Slot {
    fn who(&self) -> String {
        format!("{}.{}", self.name, self.lives)
    }

    async fn signal(&mut self, signal: &str) {
        // One that has ended is met by `reap`.
        let Some(id) = self.process.as_ref().and_then(Child::id) else { return };
        let id = id.to_string();
        let sent = Command::new("kill").args([signal, &id]).stdin(Stdio::null()).stderr(Stdio::null()).status().await;
        sent.unwrap();
    }
}

/// The end of what an instance printed.
pub(crate) fn tail(log: &std::path::Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    format!("{}:\n{}", log.display(), lines[lines.len().saturating_sub(15)..].join("\n"))
}
