mod script;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorRef};
use regex::Regex;
use tokio::sync::mpsc;
use tokio::time::Instant;
use uuid::Uuid;

use self::script::{Act, Broker, ORDERS, broker, response};
use super::GroupActor;
use crate::broker::{BrokerError, ErrorCode, GroupDescription, GroupMember, MemberIdentity};
use crate::group::lease::Lease;
use crate::group::message::{GroupMessage, GroupNotice};
use crate::group::settings::{Assignor, GroupProtocol, GroupSettings};
use crate::group::topics::Subscription;
use crate::record::TopicPartition;
use crate::testing::memory::Memory;

const LEASE: Duration = Duration::from_secs(20);

fn settings(protocol: GroupProtocol) -> GroupSettings {
    GroupSettings {
        group: "g".to_owned(),
        protocol,
        instance_id: None,
        rack: None,
        assignors: vec![Assignor::CooperativeSticky],
        server_assignor: None,
        session_timeout: Duration::from_secs(30),
        heartbeat_interval: Duration::from_secs(3),
        rebalance_timeout: Duration::from_secs(25),
        refresh: Duration::from_secs(30),
        lease: LEASE,
        classic_only: Vec::new(),
    }
}

/// A group actor, what it tells, and its broker.
struct Trial {
    actor: ActorRef<GroupMessage>,
    told: mpsc::UnboundedReceiver<GroupNotice>,
    broker: Broker,
    lease: Arc<Lease>,
}

async fn trial(broker: Broker, protocol: GroupProtocol, topics: &[&str], patterns: &[&str]) -> Trial {
    let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
    let patterns = patterns.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
    let subscription = Subscription::new(topics, patterns, Arc::new(|topic| topic == "orders-dead"));
    let mut ports = Memory::default().ports();
    ports.admin = Arc::new(broker.clone());
    ports.membership = Some(Arc::new(broker.clone()));
    let (tell, told) = mpsc::unbounded_channel();
    let lease = Arc::new(Lease::new());
    let notify = Arc::new(move |notice| drop(tell.send(notice)));
    let settings = settings(protocol);
    let actor = GroupActor { settings, subscription, ports, lease: Arc::clone(&lease), notify };
    let (actor, _) = Actor::spawn(None, actor, ()).await.unwrap();
    Trial { actor, told, broker, lease }
}

impl Trial {
    /// The next thing told, however long it takes.
    async fn told(&mut self) -> GroupNotice {
        tokio::time::timeout(Duration::from_secs(3_600), self.told.recv()).await.expect("something is told").unwrap()
    }

    /// The next thing told of membership, apart from who this is by now.
    async fn news(&mut self) -> GroupNotice {
        loop {
            match self.told().await {
                GroupNotice::Identity(_) | GroupNotice::Joined { .. } => {}
                notice => return notice,
            }
        }
    }

    async fn leave(&self) {
        self.actor.call(GroupMessage::Leave, None).await.unwrap();
    }
}

fn orders(numbers: &[i32]) -> Vec<TopicPartition> {
    numbers.iter().map(|number| TopicPartition::new("orders", *number)).collect()
}

fn assigned(numbers: &[i32]) -> GroupNotice {
    GroupNotice::Assigned(orders(numbers).into_iter().map(|partition| (partition, Some(ORDERS))).collect())
}

fn answer(epoch: i32, numbers: &[i32]) -> Act {
    Act::Answer { epoch, assignment: Some(numbers.to_vec()) }
}

#[tokio::test(start_paused = true)]
async fn a_member_joins_keeps_its_lease_gives_up_what_it_is_told_to_and_leaves() {
    let acts = [answer(5, &[0, 1]), Act::Answer { epoch: 5, assignment: None }, answer(5, &[1])];
    let mut trial = trial(broker(&[("orders", 2)], acts), GroupProtocol::Auto, &["orders"], &[]).await;
    assert!(trial.lease.is_over());
    assert!(matches!(trial.told().await, GroupNotice::Identity(Some(MemberIdentity { epoch: 5, .. }))));
    assert_eq!(trial.told().await, assigned(&[0, 1]));
    assert!(!trial.lease.is_over());
    assert_eq!(trial.news().await, GroupNotice::Revoked(orders(&[0])));
    // However long that takes, heartbeats go on.
    tokio::time::sleep(LEASE).await;
    assert!(!trial.lease.is_over());
    let before = trial.broker.asked().len();
    trial.actor.cast(GroupMessage::Released(orders(&[0]))).unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let asked = trial.broker.asked();
    assert_eq!(asked[..3], ["offers", "describe", "heartbeat 0 orders"]);
    assert_eq!(asked[before..], ["heartbeat 5"]);
    trial.leave().await;
    assert!(trial.lease.is_over());
    let asked = trial.broker.asked();
    assert_eq!(asked.last().unwrap(), "heartbeat -1");
    // Then it is quiet, and leaving once more is no trouble.
    tokio::time::sleep(Duration::from_secs(600)).await;
    trial.leave().await;
    assert_eq!(trial.broker.asked(), asked);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_an_adapter_is_one_failed_attempt() {
    let acts = [Act::Panic, answer(5, &[0]), Act::Panic, Act::Panic];
    let mut trial = trial(broker(&[("orders", 1)], acts), GroupProtocol::Consumer, &["orders"], &[]).await;
    let GroupNotice::Troubled(text) = trial.told().await else { panic!("no trouble told") };
    assert!(text.contains("an adapter's bug"), "{text}");
    assert_eq!(trial.news().await, GroupNotice::Recovered);
    assert_eq!(trial.news().await, assigned(&[0]));
    assert!(matches!(trial.news().await, GroupNotice::Troubled(_)));
    tokio::time::sleep(LEASE).await;
    assert!(!trial.lease.is_over());
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_does_not_answer_costs_the_partitions_when_the_lease_is_over() {
    let acts = [answer(5, &[0]), Act::Hang];
    let mut trial = trial(broker(&[("orders", 1)], acts), GroupProtocol::Consumer, &["orders"], &[]).await;
    let begun = Instant::now();
    assert_eq!(trial.news().await, assigned(&[0]));
    let GroupNotice::Lost { partitions, .. } = trial.news().await else { panic!("not lost") };
    assert_eq!(partitions, orders(&[0]));
    assert!(trial.lease.is_over());
    assert!(Instant::now() <= begun + LEASE + Duration::from_millis(10));
    assert_eq!(trial.told().await, GroupNotice::Identity(None));
}

#[tokio::test(start_paused = true)]
async fn topics_that_come_and_partitions_that_are_added_are_found() {
    let mut trial = trial(broker(&[], []), GroupProtocol::Consumer, &["orders"], &["^o"]).await;
    assert_eq!(trial.told().await, GroupNotice::Missing(vec!["orders".to_owned()]));
    tokio::time::sleep(Duration::from_secs(95)).await;
    assert_eq!(trial.broker.asked(), Vec::<String>::new());
    let topics = [("orders", 1), ("other", 1), ("orders-dead", 1), ("orders.dlq", 1), ("bills", 1)];
    let here = topics.map(|(name, partitions)| (name.to_owned(), (ORDERS, partitions)));
    trial.broker.script().topics = BTreeMap::from(here);
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(trial.broker.asked()[0], "heartbeat 0 orders,other");
    trial.broker.script().topics.clear();
    // A second look, before anything is believed to be gone.
    assert_eq!(trial.news().await, GroupNotice::Missing(vec!["orders".to_owned()]));
    let readings = trial.broker.script().readings.clone();
    let [.., doubt, sure] = readings[..] else { panic!("{readings:?}") };
    assert_eq!(sure - doubt, Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn an_assignment_of_an_unknown_topic_has_metadata_read_again_at_a_measured_pace() {
    let broker = broker(&[("orders", 1)], [answer(5, &[0])]);
    broker.script().topics.insert("orders".to_owned(), (Uuid::from_u128(1), 1));
    let mut trial = trial(broker, GroupProtocol::Consumer, &["orders"], &[]).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let readings = trial.broker.script().readings.len();
    assert!((8..=12).contains(&readings), "{readings} readings in five seconds");
    trial.broker.script().topics.insert("orders".to_owned(), (ORDERS, 1));
    assert_eq!(trial.news().await, assigned(&[0]));
    let readings = trial.broker.script().readings.len();
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(trial.broker.script().readings.len(), readings);
}

#[tokio::test(start_paused = true)]
async fn metadata_that_cannot_be_read_is_trouble_and_a_missing_right_is_the_end() {
    let broker = broker(&[], []);
    broker.script().unreadable = Some(response(ErrorCode::LEADER_NOT_AVAILABLE));
    let mut trial = trial(broker, GroupProtocol::Consumer, &["orders"], &[]).await;
    assert!(matches!(trial.told().await, GroupNotice::Troubled(_)));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(trial.told.try_recv().is_err());
    let readings = trial.broker.script().readings.len();
    assert!((10..30).contains(&readings), "{readings} readings in a minute");
    trial.broker.script().unreadable = Some(response(ErrorCode(29)));
    let GroupNotice::Failed(text) = trial.told().await else { panic!("no failure told") };
    assert!(text.contains("grant it"), "{text}");
    trial.leave().await;
    assert_eq!(trial.broker.asked(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn which_protocol_is_spoken_is_asked_until_a_broker_tells() {
    let broker = broker(&[("orders", 1)], [answer(5, &[0])]);
    let down = || Err(BrokerError::Connection { doing: "asking".to_owned(), cause: "refused".to_owned() });
    broker.script().offers = [down(), down(), Ok(true)].into_iter().collect();
    let mut trial = trial(broker, GroupProtocol::Auto, &["orders"], &[]).await;
    assert!(matches!(trial.told().await, GroupNotice::Troubled(_)));
    assert_eq!(trial.news().await, GroupNotice::Recovered);
    assert_eq!(trial.news().await, assigned(&[0]));
    assert_eq!(trial.broker.asked()[..5], ["offers", "offers", "offers", "describe", "heartbeat 0 orders"]);
}

#[tokio::test(start_paused = true)]
async fn without_the_port_there_is_no_membership() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let broker = broker(&[("orders", 1)], []);
    let trial = trial(broker, GroupProtocol::Consumer, &["orders"], &[]).await;
    trial.leave().await;
    let settings = settings(GroupProtocol::Auto);
    let subscription = Subscription::new(vec!["orders".to_owned()], Vec::new(), Arc::new(|_| false));
    let notify = Arc::new(move |notice| drop(tell.send(notice)));
    let ports = Memory::default().ports();
    let actor = GroupActor { settings, subscription, ports, lease: Arc::new(Lease::new()), notify };
    let (actor, _) = Actor::spawn(None, actor, ()).await.unwrap();
    let Some(GroupNotice::Failed(text)) = told.recv().await else { panic!("no failure told") };
    assert!(text.contains("assign partitions by hand"), "{text}");
    actor.call(GroupMessage::Leave, None).await.unwrap();
}

fn group(is_modern: bool, members: usize) -> GroupDescription {
    let member = |index| GroupMember {
        id: format!("m{index}"),
        instance_id: None,
        client_id: "c".to_owned(),
        host: "h".to_owned(),
        assignment: Vec::new(),
    };
    GroupDescription {
        group: "g".to_owned(),
        state: "Stable".to_owned(),
        is_modern,
        assignor: String::new(),
        epoch: None,
        members: (0..members).map(member).collect(),
    }
}

#[tokio::test(start_paused = true)]
async fn the_classic_protocol_is_spoken_where_the_brokers_or_the_group_have_it() {
    for (offers, found, classic) in [
        (Ok(false), None, true),
        (Err(BrokerError::Unsupported { doing: String::new(), remedy: String::new() }), None, true),
        (Ok(true), Some(group(false, 1)), true),
        (Ok(true), Some(group(false, 0)), false),
        (Ok(true), Some(group(true, 1)), false),
        (Ok(true), None, false),
    ] {
        let broker = broker(&[("orders", 1)], []);
        broker.script().offers.push_back(offers);
        broker.script().group = found;
        let trial = trial(broker, GroupProtocol::Auto, &["orders"], &[]).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let asked = trial.broker.asked();
        assert_eq!(asked.iter().any(|what| what == "join \"\""), classic, "{asked:?}");
        assert_eq!(asked.iter().any(|what| what == "heartbeat 0 orders"), !classic, "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_that_cannot_be_joined_by_the_new_protocol_is_by_the_old_one_unless_the_new_one_is_forced() {
    for code in [ErrorCode::GROUP_ID_NOT_FOUND, ErrorCode::UNSUPPORTED_VERSION, ErrorCode::INCONSISTENT_GROUP_PROTOCOL]
    {
        let broker = || broker(&[("orders", 1)], [Act::Fail(response(code))]);
        let trial_by = trial(broker(), GroupProtocol::Auto, &["orders"], &[]).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(trial_by.broker.asked()[2..], ["heartbeat 0 orders", "join \"\""]);
        let mut forced = trial(broker(), GroupProtocol::Consumer, &["orders"], &[]).await;
        let GroupNotice::Failed(text) = forced.told().await else { panic!("no failure told") };
        assert!(text.contains("protocol classic or"), "{text}");
        assert_eq!(forced.broker.asked(), ["heartbeat 0 orders"]);
    }
}

#[tokio::test(start_paused = true)]
async fn who_leaves_while_the_protocol_is_refused_does_not_join_by_the_other_one() {
    let acts = [Act::FailAfter(Duration::from_secs(1), response(ErrorCode::GROUP_ID_NOT_FOUND))];
    let trial = trial(broker(&[("orders", 1)], acts), GroupProtocol::Auto, &["orders"], &[]).await;
    while !trial.broker.asked().iter().any(|asked| asked.starts_with("heartbeat 0")) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    trial.leave().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let asked = trial.broker.asked();
    assert!(!asked.iter().any(|asked| asked.starts_with("join")), "{asked:?}");
}
