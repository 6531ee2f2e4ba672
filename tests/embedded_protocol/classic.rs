//! Groups by the classic protocol.

use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, Broker, Fault};
use kafka_protocol::messages::{
    DeleteGroupsRequest, DescribeGroupsRequest, JoinGroupResponse, ListGroupsRequest, OffsetCommitRequest,
};
use tokio::io::DuplexStream;
use tokio::time::{Instant, sleep};

use crate::client::{Client, text};
use crate::member::{GROUP, commit, group, heartbeat, join, leave, sync};

type Pipe = Client<DuplexStream>;

async fn orders() -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    broker
}

/// Joins as a new dynamic member, by way of its member id; answered when all have joined.
async fn join_anew(client: &mut Pipe, protocols: &[&str]) -> JoinGroupResponse {
    let told = client.call(9, &join("", None, protocols)).await;
    assert_eq!((told.error_code, told.generation_id), (79, -1));
    client.call(9, &join(&told.member_id, None, protocols)).await
}

/// One member that leads a stable group, with everything assigned to it.
async fn lead(broker: &Broker) -> (Pipe, JoinGroupResponse) {
    let mut client = Client::pipe(broker);
    let joined = join_anew(&mut client, &["range"]).await;
    assert_eq!((joined.error_code, joined.leader.clone()), (0, joined.member_id.clone()));
    let synced = client.call(5, &sync(&joined, &[(&joined.member_id, "all")])).await;
    assert_eq!((synced.error_code, &synced.assignment[..]), (0, &b"all"[..]));
    (client, joined)
}

async fn beat(client: &mut Pipe, joined: &JoinGroupResponse) -> i16 {
    client.call(4, &heartbeat(&joined.member_id, None, joined.generation_id)).await.error_code
}

#[tokio::test]
async fn every_version_joins_syncs_and_leaves() {
    for version in 0..=9 {
        let broker = orders().await;
        let mut client = Client::pipe(&broker);
        let mut request = join("", None, &["range"]);
        if version == 0 {
            request.rebalance_timeout_ms = -1;
        }
        let mut joined = client.call(version, &request).await;
        if version >= 4 {
            assert_eq!(joined.error_code, 79);
            joined = client.call(version, &request.with_member_id(joined.member_id)).await;
        }
        assert_eq!((joined.error_code, joined.generation_id, joined.members.len()), (0, 1, 1), "{version}");
        assert!(joined.member_id.starts_with("test-"), "{}", joined.member_id);
        assert_eq!(joined.members[0].metadata, "to range");
        let mut request = sync(&joined, &[(&joined.member_id, "all")]);
        let sync_version = version.min(5);
        if sync_version < 5 {
            (request.protocol_type, request.protocol_name) = (None, None);
        } else {
            (request.protocol_type, request.protocol_name) = (Some(text("consumer")), Some(text("range")));
        }
        assert_eq!(client.call(sync_version, &request).await.assignment, "all");
        let beating = heartbeat(&joined.member_id, None, 1);
        assert_eq!(client.call(version.min(4), &beating).await.error_code, 0);
        let leaving = if version < 3 {
            leave("", None).with_members(Vec::new()).with_member_id(joined.member_id.clone())
        } else {
            leave(&joined.member_id, None)
        };
        assert_eq!(client.call(version.min(5), &leaving).await.error_code, 0);
        assert_eq!((broker.group_state(GROUP), broker.group_members(GROUP)), (Some("Empty"), Vec::new()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_member_waits_until_the_first_has_joined_again() {
    let broker = orders().await;
    let (mut first, joined) = lead(&broker).await;
    let mut second = Client::pipe(&broker);
    let joining = tokio::spawn(async move { (join_anew(&mut second, &["range"]).await, second) });
    sleep(Duration::from_secs(5)).await;
    assert!(!joining.is_finished());
    assert_eq!(broker.group_state(GROUP), Some("PreparingRebalance"));
    assert_eq!(beat(&mut first, &joined).await, 27);
    // Its offsets may still be committed.
    let committed = first.call(8, &commit(&joined.member_id, None, 1)).await;
    assert_eq!(committed.topics[0].partitions[0].error_code, 0);

    let again = first.call(9, &join(&joined.member_id, None, &["range"])).await;
    let (other, mut second) = joining.await.unwrap();
    assert_eq!((again.generation_id, other.generation_id), (2, 2));
    assert_eq!((again.members.len(), other.members.len()), (2, 0));
    assert_eq!((&again.leader, &other.leader), (&joined.member_id, &joined.member_id));
    assert_eq!(broker.group_state(GROUP), Some("CompletingRebalance"));
    assert_eq!(beat(&mut first, &again).await, 0);
    let committed = first.call(8, &commit(&joined.member_id, None, 2)).await;
    assert_eq!(committed.topics[0].partitions[0].error_code, 27);

    let request = sync(&other, &[]);
    let syncing = tokio::spawn(async move { second.call(5, &request).await });
    sleep(Duration::from_secs(1)).await;
    assert!(!syncing.is_finished());
    let assignments = [(&*again.member_id, "mine"), (&*other.member_id, "theirs")];
    assert_eq!(first.call(5, &sync(&again, &assignments)).await.assignment, "mine");
    assert_eq!(syncing.await.unwrap().assignment, "theirs");
    assert_eq!(broker.group_members(GROUP).iter().map(|member| member.epoch).collect::<Vec<_>>(), [2, 2]);
}

#[tokio::test(start_paused = true)]
async fn sessions_end_by_the_clock_and_heartbeats_extend_them() {
    let broker = orders().await;
    let (mut client, joined) = lead(&broker).await;
    for _ in 0..5 {
        sleep(Duration::from_secs(9)).await;
        assert_eq!(beat(&mut client, &joined).await, 0);
    }
    sleep(Duration::from_secs(11)).await;
    assert_eq!(broker.group_state(GROUP), Some("Empty"));
    assert_eq!(beat(&mut client, &joined).await, 25);
    let committed = client.call(9, &commit(&joined.member_id, None, 1)).await;
    assert_eq!(committed.topics[0].partitions[0].error_code, 25);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_join_again_in_time_is_left_behind() {
    let broker = orders().await;
    let (mut first, joined) = lead(&broker).await;
    let mut second = Client::pipe(&broker);
    let start = Instant::now();
    let joining = tokio::spawn(async move { join_anew(&mut second, &["range"]).await });
    for _ in 0..5 {
        sleep(Duration::from_secs(5)).await;
        // Heartbeats alone keep its session, not its place.
        assert_eq!((beat(&mut first, &joined).await, joining.is_finished()), (27, false));
    }
    let other = joining.await.unwrap();
    let waited = start.elapsed();
    assert!((30..33).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!((other.generation_id, other.leader, other.members.len()), (2, other.member_id, 1));
    assert_eq!(beat(&mut first, &joined).await, 25);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_ends_before_it_assigns_is_replaced() {
    let broker = orders().await;
    let (mut first, joined) = lead(&broker).await;
    let mut second = Client::pipe(&broker);
    let joining = tokio::spawn(async move { (join_anew(&mut second, &["range"]).await, second) });
    sleep(Duration::from_secs(1)).await;
    first.call(9, &join(&joined.member_id, None, &["range"])).await;
    let (other, mut second) = joining.await.unwrap();
    drop(first);
    // The leader's session ends while the other waits for its assignment.
    assert_eq!(second.call(5, &sync(&other, &[])).await.error_code, 27);
    let again = second.call(9, &join(&other.member_id, None, &["range"])).await;
    assert_eq!((again.generation_id, &again.leader), (3, &other.member_id));
}

#[tokio::test(start_paused = true)]
async fn members_that_never_ask_for_their_assignment_are_given_up() {
    let broker = orders().await;
    let mut client = Client::pipe(&broker);
    let joined = join_anew(&mut client, &["range"]).await;
    for _ in 0..29 {
        sleep(Duration::from_secs(1)).await;
        assert_eq!(beat(&mut client, &joined).await, 0);
    }
    sleep(Duration::from_secs(2)).await;
    assert_eq!(beat(&mut client, &joined).await, 25);
}

#[tokio::test]
async fn outdated_and_unknown_members_are_refused() {
    let broker = orders().await;
    let (mut client, joined) = lead(&broker).await;
    let id = &*joined.member_id;
    assert_eq!(client.call(4, &heartbeat(id, None, 0)).await.error_code, 22);
    assert_eq!(client.call(4, &heartbeat("nobody", None, 1)).await.error_code, 25);
    assert_eq!(client.call(4, &heartbeat(id, None, 1).with_group_id(Default::default())).await.error_code, 24);
    assert_eq!(client.call(9, &join("nobody", None, &["range"])).await.error_code, 25);
    assert_eq!(client.call(9, &join(id, None, &["sticky"])).await.error_code, 23);
    assert_eq!(client.call(9, &join("", None, &["range"]).with_protocol_type(text("connect"))).await.error_code, 23);
    assert_eq!(client.call(9, &join("", None, &["range"]).with_session_timeout_ms(999)).await.error_code, 26);
    assert_eq!(client.call(5, &sync(&joined, &[]).with_protocol_name(Some(text("sticky")))).await.error_code, 23);
    assert_eq!(client.call(5, &sync(&joined, &[]).with_generation_id(7)).await.error_code, 22);
    let left = client.call(5, &leave("nobody", None)).await;
    assert_eq!((left.error_code, left.members[0].error_code), (0, 25));
    let mut code = async |version, request: OffsetCommitRequest| {
        client.call(version, &request).await.topics[0].partitions[0].error_code
    };
    assert_eq!(code(8, commit(id, None, 2)).await, 22);
    assert_eq!(code(8, commit("nobody", None, 1)).await, 25);
    // Who manages its partitions itself must not commit for a group that has members.
    assert_eq!(code(8, commit("", None, -1)).await, 25);
    assert_eq!(code(8, commit(id, None, 1)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn the_assignor_is_one_that_all_know_and_most_prefer() {
    let broker = Broker::builder().initial_rebalance_delay(Duration::from_millis(200)).start().await.unwrap();
    let wishes: [&[&str]; 3] = [&["sticky", "range", "mine"], &["range", "sticky"], &["range", "sticky"]];
    let joining = wishes.map(|protocols| {
        let mut client = Client::pipe(&broker);
        let request = join("", None, protocols);
        // Version 3 joins at once, all within the delay.
        tokio::spawn(async move { client.call(3, &request).await })
    });
    for joining in joining {
        let joined = joining.await.unwrap();
        assert_eq!((joined.error_code, joined.generation_id), (0, 1));
        assert_eq!(joined.protocol_name, Some(text("range")));
    }
}

#[tokio::test]
async fn a_static_member_that_comes_back_keeps_its_assignment_and_fences_its_former_self() {
    let broker = orders().await;
    let mut client = Client::pipe(&broker);
    let joined = client.call(9, &join("", Some("one"), &["range"])).await;
    assert_eq!((joined.error_code, joined.generation_id), (0, 1));
    client.call(5, &sync(&joined, &[(&joined.member_id, "all")])).await;

    let again = client.call(9, &join("", Some("one"), &["range"])).await;
    assert_eq!((again.error_code, again.generation_id, again.skip_assignment), (0, 1, true));
    assert!(again.member_id != joined.member_id && again.leader == again.member_id);
    assert_eq!(client.call(5, &sync(&again, &[])).await.assignment, "all");
    assert_eq!(client.call(4, &heartbeat(&joined.member_id, Some("one"), 1)).await.error_code, 82);
    assert_eq!(client.call(4, &heartbeat(&again.member_id, Some("one"), 1)).await.error_code, 0);
    let committed = client.call(8, &commit(&joined.member_id, Some("one"), 1)).await;
    assert_eq!(committed.topics[0].partitions[0].error_code, 82);
    // A version that does not know of that is told that another leads.
    let older = client.call(8, &join("", Some("one"), &["range"])).await;
    assert_eq!((older.generation_id, &older.leader), (1, &again.member_id));
    assert!(older.leader != older.member_id);
    // An administrator removes it by its instance id alone.
    assert_eq!(client.call(5, &leave("", Some("one"))).await.members[0].error_code, 0);
    assert_eq!(broker.group_members(GROUP), []);
}

#[tokio::test(start_paused = true)]
async fn a_static_member_that_is_away_is_waited_for_until_its_session_ends() {
    let broker = orders().await;
    let mut away = Client::pipe(&broker);
    away.call(9, &join("", Some("one"), &["range"])).await;
    drop(away);
    let mut client = Client::pipe(&broker);
    let start = Instant::now();
    let joined = client.call(9, &join("", Some("two"), &["range"])).await;
    assert_eq!((joined.generation_id, joined.members.len()), (2, 1));
    let waited = start.elapsed();
    assert!((9..12).contains(&waited.as_secs()), "{waited:?}");
}

#[tokio::test]
async fn tests_expire_members_and_count_them() {
    let broker = orders().await;
    let (mut client, joined) = lead(&broker).await;
    let members = broker.group_members(GROUP);
    assert_eq!((&*members[0].member_id, &*members[0].client_id), (&*joined.member_id, "test"));
    assert!(!broker.expire_member(GROUP, "nobody") && broker.expire_member(GROUP, &joined.member_id));
    assert_eq!(beat(&mut client, &joined).await, 25);
}

#[tokio::test]
async fn a_group_has_no_more_members_than_it_may() {
    let broker = Broker::builder().max_group_size(1).start().await.unwrap();
    let (_first, _) = lead(&broker).await;
    let refused = Client::pipe(&broker).call(9, &join("", None, &["range"])).await;
    assert_eq!(refused.error_code, 81);
}

#[tokio::test]
async fn groups_with_members_are_listed_and_described_and_not_deleted() {
    let broker = orders().await;
    let (mut client, joined) = lead(&broker).await;
    let list = ListGroupsRequest::default().with_states_filter(vec![text("stable")]);
    let listed = client.call(5, &list.with_types_filter(vec![text("Classic")])).await.groups;
    let told = (&*listed[0].group_id.0, &*listed[0].group_state, &*listed[0].protocol_type, &*listed[0].group_type);
    assert_eq!(told, (GROUP, "Stable", "consumer", "classic"));
    let described = client.call(6, &DescribeGroupsRequest::default().with_groups(vec![group()])).await.groups;
    assert_eq!((&*described[0].group_state, &*described[0].protocol_data), ("Stable", "range"));
    let member = &described[0].members[0];
    assert_eq!((&member.member_id, &*member.client_id, &*member.client_host), (&joined.member_id, "test", "/pipe"));
    assert_eq!((&member.member_metadata[..], &member.member_assignment[..]), (&b"to range"[..], &b"all"[..]));
    let delete = DeleteGroupsRequest::default().with_groups_names(vec![group()]);
    assert_eq!(client.call(2, &delete).await.results[0].error_code, 68);
    client.call(5, &leave(&joined.member_id, None)).await;
    assert_eq!(client.call(2, &delete).await.results[0].error_code, 0);
}

#[tokio::test(start_paused = true)]
async fn faults_hit_members_like_all_others() {
    let broker = orders().await;
    let (mut client, joined) = lead(&broker).await;
    broker.inject(Fault::on(Api::Heartbeat).times(2).error(ErrorCode::NOT_COORDINATOR));
    let codes = [beat(&mut client, &joined).await, beat(&mut client, &joined).await, beat(&mut client, &joined).await];
    assert_eq!(codes, [16, 16, 0]);
    let start = Instant::now();
    broker.inject(Fault::on(Api::SyncGroup).delay(Duration::from_secs(3)));
    assert_eq!(client.call(5, &sync(&joined, &[])).await.assignment, "all");
    assert!(start.elapsed() >= Duration::from_secs(3));
    // The rebalance takes place, and its answer is lost.
    broker.inject(Fault::on(Api::JoinGroup).drop_after_effect());
    assert!(client.try_call(9, &join(&joined.member_id, None, &["range"])).await.is_none());
    assert_eq!(broker.group_state(GROUP), Some("CompletingRebalance"));
    let again = Client::pipe(&broker).call(9, &join(&joined.member_id, None, &["range"])).await;
    assert_eq!((again.error_code, again.generation_id, again.members.len()), (0, 2, 1));
}
