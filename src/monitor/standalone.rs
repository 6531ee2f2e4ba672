use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use super::alert::Alert;
use super::clock::Clock;
use super::gauges::Gauges;
use super::health::{TopicHealth, category_of};
use super::outbox::Outbox;
use super::plan::Asked;
use super::settings::MonitorSettings;
use super::state::{Signature, State};
use super::survey::Survey;
use crate::broker::{BrokerError, Ports};

/// A monitor outside of a consumer: watches dead-letter topics, whoever writes them.
///
/// It sees what lies in the topics. Of single dead letters, of partitions that are held, and of records that retention is about
/// to remove it knows nothing: consumers tell of those.
///
/// ```no_run
/// use bezoar::broker::{ConnectionSettings, Plane};
/// use bezoar::monitor::{Monitor, MonitorSettings};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let ports = Plane::Native.connect(ConnectionSettings::new(["127.0.0.1:9092"])).await?;
/// let monitor = Monitor::new(ports, ["orders.dlq.poison", "orders.dlq.validation"], MonitorSettings::new());
/// for topic in monitor.check().await? {
///     println!("{}: {} unresolved, {}", topic.topic, topic.depth, topic.status);
/// }
/// monitor.run_until(bezoar::shutdown_signal()).await;
/// # Ok(())
/// # }
/// ```
pub struct Monitor {
    topics: Asked,
    settings: MonitorSettings,
    signature: Signature,
    clock: Clock,
    inner: Mutex<Inner>,
}

struct Inner {
    survey: Survey,
    /// Of all looks.
    seen: State,
    /// Of those whose alerts are told.
    watched: State,
    gauges: Gauges,
}

/// What a look brought.
struct Look {
    health: Vec<TopicHealth>,
    alerts: Vec<Alert>,
    /// Why not all topics could be read.
    trouble: Option<BrokerError>,
}

impl Monitor {
    /// Watches `topics`, through `ports`.
    /// [`MonitorSettings::check`] says whether the settings can be used. That they are [off](MonitorSettings::off) is not heeded here.
    pub fn new(ports: Ports, topics: impl IntoIterator<Item = impl Into<Arc<str>>>, settings: MonitorSettings) -> Self {
        let topics = topics.into_iter().map(Into::into).map(|topic| {
            let category = category_of(&topic);
            (topic, category)
        });
        let host = gethostname::gethostname();
        let source = format!("bezoar@{}:{}", host.to_string_lossy(), std::process::id());
        let signature = Signature { source: source.into(), group: None, tags: settings.tags.clone() };
        let state = || State::new(settings.limits.clone(), signature.clone());
        let inner = Inner { survey: Survey::new(ports), seen: state(), watched: state(), gauges: Gauges::default() };
        Self { topics: topics.collect(), settings, signature, clock: Clock::new(), inner: Mutex::new(inner) }
    }

    /// Who tells, in alerts. Default: `bezoar`, host and process id.
    pub fn source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.signature.source = source.into();
        self.inner.get_mut().watched = State::new(self.settings.limits.clone(), self.signature.clone());
        self
    }

    /// Looks at the topics now; in order of their names. Growth is there from the second look on. Nobody is told.
    ///
    /// # Errors
    /// [`BrokerError`] where the broker could not be asked about one of them. One that does not exist is no error
    /// ([`Status::Missing`](super::Status::Missing)).
    pub async fn check(&self) -> Result<Vec<TopicHealth>, BrokerError> {
        let look = self.look(false).await?;
        look.trouble.map_or(Ok(look.health), Err)
    }

    /// Watches, and tells the sinks, until `signal` is ready; then what is left to be told has three seconds.
    pub async fn run_until(&self, signal: impl Future) {
        self.watch_until(signal, |_| {}).await;
    }

    /// As [`run_until`](Self::run_until); `each` is handed what each look found, or why it found nothing.
    pub async fn watch_until(&self, signal: impl Future, mut each: impl FnMut(Result<&[TopicHealth], &BrokerError>)) {
        let sinks = self.settings.all_sinks();
        let outboxes: Vec<Outbox> = sinks.into_iter().map(|sink| Outbox::new(sink, &Handle::current())).collect();
        let mut ticks = interval(self.settings.limits.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut signal, mut failing) = (pin!(signal), false);
        loop {
            let look = async {
                ticks.tick().await;
                self.look(true).await
            };
            let look = tokio::select! {
                biased;
                _ = &mut signal => break,
                look = look => look,
            };
            let found = look.and_then(|Look { health, alerts, trouble }| {
                for alert in alerts.into_iter().map(Arc::new) {
                    outboxes.iter().for_each(|outbox| outbox.push(Arc::clone(&alert)));
                }
                trouble.map_or(Ok(health), Err)
            });
            match &found {
                Ok(_) if std::mem::take(&mut failing) => {
                    tracing::info!("the monitor sees all dead-letter topics again");
                }
                Err(error) if !std::mem::replace(&mut failing, true) => {
                    tracing::warn!(
                        "the monitor cannot look at all dead-letter topics, trying again at each interval: {error}"
                    );
                }
                _ => {}
            }
            each(found.as_deref());
        }
        Outbox::close_all(outboxes).await;
    }

    async fn look(&self, watched: bool) -> Result<Look, BrokerError> {
        let mut inner = self.inner.lock().await;
        let inner = &mut *inner;
        let look = inner.survey.look(&self.topics, Vec::new(), self.clock.now().wall).await?;
        let now = self.clock.now();
        let alerts = match watched {
            true => inner.watched.read(now, look.readings.clone(), &look.unread),
            false => Vec::new(),
        };
        inner.seen.read(now, look.readings, &look.unread);
        let health = inner.seen.health(now);
        inner.gauges.set(&health);
        Ok(Look { health, alerts, trouble: look.trouble })
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor")
            .field("topics", &self.topics)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
