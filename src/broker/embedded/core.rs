//! The broker as a state machine without I/O: requests and time go in, answers come out.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;

use super::api::Api;
use super::apis::{self, fetch::Wait};
use super::fault::{Errors, Faults, Plan};
use super::groups::{Client, Ticket};
use super::perform::Pause;
use super::request::Request;
use super::sessions::Context;
use super::state::State;

/// Names a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// The time, as whoever drives the core tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Now {
    /// Since some fixed moment; never goes back.
    pub(crate) elapsed: Duration,
    /// Milliseconds since the Unix epoch.
    pub(crate) wall_millis: i64,
}

/// What happens to the broker.
#[derive(Debug)]
pub(crate) enum Input {
    /// A request arrived. A connection sends its next one after the answer to the last: this keeps answers in order
    /// (Kafka, too, reads on only then).
    Request(ConnectionId, Box<Request>),
    /// A connection ended; what it waits for is forgotten.
    Closed(ConnectionId),
    /// Time passed, or the state was changed from outside.
    Tick,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// This frame is to be sent, its length included.
    Reply(Bytes),
    /// Nothing is to be sent: the client wants no acknowledgement.
    Silence,
    /// The connection is to be closed.
    Close,
    /// These bytes are to be sent and the connection closed then.
    Last(Bytes),
    /// These bytes are to be sent, and the rest after a pause.
    Torn(Bytes, Duration, Box<Outcome>),
}

/// What is to be done.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) outcomes: Vec<(ConnectionId, Outcome)>,
    /// When the core wants to be stepped again at the latest.
    pub(crate) wake_at: Option<Duration>,
}

/// What a handler knows of the call besides its request.
pub(crate) struct Call<'a> {
    pub(crate) version: i16,
    pub(crate) now: Now,
    pub(crate) client: &'a Client,
    pub(crate) errors: &'a Errors,
}

/// The broker's state, and the requests that wait.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) state: State,
    pub(crate) faults: Faults,
    counts: HashMap<Api, u64>,
    /// Requests that a fault delays.
    held: Vec<Waiting>,
    /// Fetches that wait for data.
    parked: Vec<Waiting>,
    /// Requests of group members that wait for other members.
    gathering: HashMap<Ticket, Waiting>,
}

/// A request that is under way.
#[derive(Debug)]
pub(super) struct Waiting {
    until: Duration,
    connection: ConnectionId,
    pub(super) request: Box<Request>,
    pub(super) plan: Plan,
    /// What a fetch is about, once it has begun.
    pub(super) fetch: Option<Context>,
}

impl Core {
    pub(crate) fn new(state: State) -> Self {
        Self {
            state,
            faults: Faults::default(),
            counts: HashMap::new(),
            held: Vec::new(),
            parked: Vec::new(),
            gathering: HashMap::new(),
        }
    }

    /// How many requests of a kind have arrived.
    pub(crate) fn count(&self, api: Api) -> u64 {
        self.counts.get(&api).copied().unwrap_or(0)
    }

    /// Takes one input at a time that never goes back, and says what is to be done.
    pub(crate) fn step(&mut self, now: Now, input: Input) -> Effects {
        let mut effects = Effects::default();
        self.state.expire_transactions(now);
        self.state.groups.advance(now.elapsed);
        match input {
            Input::Request(connection, request) => self.admit(now, connection, request, &mut effects),
            Input::Closed(connection) => {
                self.held.retain(|waiting| waiting.connection != connection);
                self.parked.retain(|waiting| waiting.connection != connection);
                // The members stay, until their sessions end.
                self.gathering.retain(|_, waiting| waiting.connection != connection);
            }
            Input::Tick => {}
        }
        let (due, held) = self.held.drain(..).partition(|waiting| waiting.until <= now.elapsed);
        self.held = held;
        for waiting in Vec::from_iter::<Vec<Waiting>>(due) {
            self.run(now, waiting, &mut effects);
        }
        self.wake_parked(now, &mut effects);
        self.answer_members(&mut effects);
        let waiting = self.held.iter().chain(&self.parked).map(|waiting| waiting.until);
        let deadlines = self.state.transactions.next_expiry().into_iter().chain(self.state.groups.next_deadline());
        effects.wake_at = waiting.chain(deadlines).min();
        effects
    }

    fn admit(&mut self, now: Now, connection: ConnectionId, request: Box<Request>, effects: &mut Effects) {
        *self.counts.entry(request.api).or_default() += 1;
        if self.state.settings.absent.contains(&request.api) {
            effects.outcomes.push((connection, Outcome::Close));
            return;
        }
        let plan = if self.faults.concern(request.api) {
            let touched = apis::touched(&request.body, &self.state);
            let touched: Vec<_> = touched.iter().map(|(topic, partition)| (&**topic, *partition)).collect();
            self.faults.plan(request.api, &touched)
        } else {
            Plan::default()
        };
        let until = now.elapsed.saturating_add(plan.delay);
        let waiting = Waiting { until, connection, request, plan, fetch: None };
        if waiting.until > now.elapsed {
            self.held.push(waiting);
        } else {
            self.run(now, waiting, effects);
        }
    }

    fn run(&mut self, now: Now, mut waiting: Waiting, effects: &mut Effects) {
        if waiting.plan.drop_before {
            effects.outcomes.push((waiting.connection, Outcome::Close));
            return;
        }
        match self.perform(now, &mut waiting, Wait::Allowed) {
            Ok(outcome) => effects.outcomes.push((waiting.connection, waiting.plan.after_effect(outcome))),
            Err(Pause::ForMembers(ticket)) => {
                self.gathering.insert(ticket, waiting);
            }
            Err(Pause::ForData(longest)) => {
                waiting.until = now.elapsed.saturating_add(longest);
                self.parked.push(waiting);
            }
        }
    }

    /// Looks at the parked fetches whose time is over or whose partitions changed.
    fn wake_parked(&mut self, now: Now, effects: &mut Effects) {
        let changed = self.state.take_changed();
        let parked = std::mem::take(&mut self.parked);
        for mut waiting in parked {
            let over = waiting.until <= now.elapsed;
            let Some(context) = &waiting.fetch else { continue };
            if !over && !apis::fetch::watches(context, waiting.request.version, &changed, &self.state.topics) {
                self.parked.push(waiting);
                continue;
            }
            match self.perform(now, &mut waiting, if over { Wait::Over } else { Wait::Allowed }) {
                Ok(outcome) => effects.outcomes.push((waiting.connection, waiting.plan.after_effect(outcome))),
                Err(_) => self.parked.push(waiting),
            }
        }
    }

    /// Answers requests of members that waited for others.
    fn answer_members(&mut self, effects: &mut Effects) {
        for (ticket, answer) in self.state.groups.take_answers() {
            // None where its connection has ended.
            let Some(waiting) = self.gathering.remove(&ticket) else { continue };
            let outcome = self.answer_member(&waiting, answer);
            effects.outcomes.push((waiting.connection, waiting.plan.after_effect(outcome)));
        }
    }
}

impl Plan {
    fn after_effect(&self, outcome: Outcome) -> Outcome {
        if self.drop_after { Outcome::Close } else { outcome }
    }
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::FetchRequest;
    use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};

    use super::super::api::Body;
    use super::super::fault::Fault;
    use super::super::samples;
    use super::*;

    const CONNECTION: ConnectionId = ConnectionId(4);

    fn at(seconds: u64) -> Now {
        Now { elapsed: Duration::from_secs(seconds), wall_millis: 0 }
    }

    /// A fetch of what is not there yet, which waits for 30 s.
    fn fetch() -> Input {
        let partition = FetchPartition::default().with_partition_max_bytes(1_000);
        let topic = FetchTopic::default().with_topic(samples::topic("orders")).with_partitions(vec![partition]);
        let body = FetchRequest::default()
            .with_topics(vec![topic])
            .with_max_bytes(1_000)
            .with_min_bytes(1)
            .with_max_wait_ms(30_000);
        let request = Request {
            api: Api::Fetch,
            version: 12,
            correlation_id: 1,
            client: Client::default(),
            body: Body::Fetch(body),
        };
        Input::Request(CONNECTION, Box::new(request))
    }

    #[test]
    fn a_parked_fetch_says_when_to_wake_it_and_is_answered_then() {
        let (mut core, _) = samples::core();
        let effects = core.step(at(1), fetch());
        assert_eq!((effects.outcomes.len(), effects.wake_at), (0, Some(Duration::from_secs(31))));
        assert!(core.step(at(30), Input::Tick).outcomes.is_empty());
        let effects = core.step(at(31), Input::Tick);
        assert!(matches!(effects.outcomes[..], [(CONNECTION, Outcome::Reply(_))]));
        assert_eq!(effects.wake_at, None);
    }

    #[test]
    fn a_closed_connection_is_forgotten_with_all_that_it_waits_for() {
        for delayed in [false, true] {
            let (mut core, _) = samples::core();
            if delayed {
                core.faults.inject(Fault::on(Api::Fetch).delay(Duration::from_secs(5)));
            }
            assert!(core.step(at(0), fetch()).wake_at.is_some());
            assert_eq!(core.step(at(1), Input::Closed(CONNECTION)).wake_at, None);
            assert!(core.step(at(60), Input::Tick).outcomes.is_empty());
        }
    }

    #[test]
    fn a_delayed_fetch_waits_for_data_only_after_its_delay() {
        let (mut core, _) = samples::core();
        core.faults.inject(Fault::on(Api::Fetch).delay(Duration::from_secs(5)));
        assert_eq!(core.step(at(0), fetch()).wake_at, Some(Duration::from_secs(5)));
        assert_eq!(core.step(at(5), Input::Tick).wake_at, Some(Duration::from_secs(35)));
    }
}
