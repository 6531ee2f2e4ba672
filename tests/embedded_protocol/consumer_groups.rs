//! Groups by the protocol of KIP-848.

use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, Broker, Fault};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{
    ApiVersionsRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
    DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest, OffsetCommitRequest, OffsetFetchRequest,
};
use tokio::io::DuplexStream;
use tokio::time::sleep;
use uuid::Uuid;

use crate::client::{Client, text, topic_name};
use crate::member::{GROUP, assigned, beat, beat_in, commit, group, heartbeat, join, leave, owning};

type Pipe = Client<DuplexStream>;

async fn orders(partitions: i32) -> (Broker, Uuid, Pipe) {
    let broker = Broker::start().await.unwrap();
    let topic = broker.create_topic("orders", partitions).unwrap();
    let client = Client::pipe(&broker);
    (broker, topic, client)
}

async fn send(client: &mut Pipe, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse {
    let answer = client.call(1, &request).await;
    assert_eq!(answer.error_code, 0, "{:?}", answer.error_message);
    answer
}

async fn code(client: &mut Pipe, request: ConsumerGroupHeartbeatRequest) -> i16 {
    let answer = client.call(1, &request).await;
    assert!(answer.error_code == 0 || answer.error_message.is_some());
    answer.error_code
}

#[tokio::test]
async fn a_member_joins_stays_and_leaves() {
    let (broker, topic, mut client) = orders(3).await;
    let joined = send(&mut client, beat_in("a", &["orders"])).await;
    assert_eq!((joined.member_id.as_deref(), joined.member_epoch, joined.heartbeat_interval_ms), (Some("a"), 2, 5_000));
    assert_eq!(joined.assignment.as_ref().unwrap().topic_partitions[0].topic_id, topic);
    assert_eq!(assigned(&joined), Some(vec![0, 1, 2]));
    // The assignment comes again where it changed, or where the member says all it has to say.
    assert_eq!(assigned(&send(&mut client, beat("a", 2)).await), None);
    let full = owning(beat_in("a", &["orders"]), topic, &[0, 1, 2]).with_member_epoch(2);
    assert_eq!(assigned(&send(&mut client, full).await), Some(vec![0, 1, 2]));
    assert_eq!(broker.group_state(GROUP), Some("Stable"));
    let left = send(&mut client, beat("a", -1)).await;
    assert_eq!((left.member_epoch, left.assignment), (-1, None));
    assert_eq!((broker.group_state(GROUP), code(&mut client, beat("a", 2)).await), (Some("Empty"), 25));
    // In version 0, the broker makes the member id.
    let named = client.call(0, &beat_in("", &["orders"])).await;
    assert_eq!(named.error_code, 0);
    assert_eq!(Uuid::parse_str(&named.member_id.unwrap()).unwrap().get_version_num(), 4);
}

#[tokio::test]
async fn a_partition_moves_only_after_it_was_given_up() {
    let (broker, topic, mut client) = orders(2).await;
    send(&mut client, beat_in("a", &["orders"])).await;
    // The second joins at the new epoch and waits for its partition.
    let second = send(&mut client, beat_in("b", &["orders"])).await;
    assert_eq!((second.member_epoch, assigned(&second)), (3, Some(vec![])));
    assert_eq!(assigned(&send(&mut client, beat("b", 3)).await), None);
    // The first is told what to give up, and stays at its epoch until it has.
    let revoking = send(&mut client, beat("a", 2)).await;
    assert_eq!((revoking.member_epoch, assigned(&revoking)), (2, Some(vec![0])));
    assert_eq!(broker.group_state(GROUP), Some("Reconciling"));
    for owned in [&[0, 1][..], &[1]] {
        let holding = send(&mut client, owning(beat("a", 2), topic, owned)).await;
        assert_eq!((holding.member_epoch, assigned(&holding)), (2, None));
        assert_eq!(assigned(&send(&mut client, beat("b", 3)).await), None);
    }
    let revoked = send(&mut client, owning(beat("a", 2), topic, &[0])).await;
    assert_eq!((revoked.member_epoch, assigned(&revoked)), (3, None));
    let released = send(&mut client, beat("b", 3)).await;
    assert_eq!((released.member_epoch, assigned(&released)), (3, Some(vec![1])));
    assert_eq!(broker.group_state(GROUP), Some("Stable"));
    // What a member that leaves had goes to the other.
    send(&mut client, beat("a", -1)).await;
    assert_eq!(broker.group_state(GROUP), Some("Assigning"));
    let all = send(&mut client, beat("b", 3)).await;
    assert_eq!((all.member_epoch, assigned(&all)), (4, Some(vec![0, 1])));
}

#[tokio::test(start_paused = true)]
async fn who_does_not_give_up_in_time_is_fenced() {
    let (broker, topic, mut client) = orders(2).await;
    send(&mut client, beat_in("a", &["orders"])).await;
    send(&mut client, beat_in("b", &["orders"])).await;
    send(&mut client, beat("a", 2)).await;
    for _ in 0..29 {
        sleep(Duration::from_secs(1)).await;
        send(&mut client, owning(beat("a", 2), topic, &[0, 1])).await;
        send(&mut client, beat("b", 3)).await;
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(code(&mut client, owning(beat("a", 2), topic, &[0, 1])).await, 25);
    assert_eq!(assigned(&send(&mut client, beat("b", 3)).await), Some(vec![0, 1]));
    assert_eq!(broker.group_members(GROUP).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn sessions_end_by_the_clock_and_heartbeats_extend_them() {
    let builder = Broker::builder().consumer_session_timeout(Duration::from_secs(10));
    let broker = builder.consumer_heartbeat_interval(Duration::from_millis(100)).start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    let mut client = Client::pipe(&broker);
    assert_eq!(send(&mut client, beat_in("a", &["orders"])).await.heartbeat_interval_ms, 100);
    for _ in 0..5 {
        sleep(Duration::from_secs(9)).await;
        send(&mut client, beat("a", 2)).await;
    }
    sleep(Duration::from_secs(11)).await;
    assert_eq!((broker.group_state(GROUP), code(&mut client, beat("a", 2)).await), (Some("Empty"), 25));
}

#[tokio::test]
async fn an_epoch_that_is_not_the_members_is_fenced_unless_an_answer_was_lost() {
    let (_broker, topic, mut client) = orders(2).await;
    send(&mut client, beat_in("a", &["orders"])).await;
    assert_eq!(code(&mut client, beat("a", 3)).await, 110);
    send(&mut client, beat_in("b", &["orders"])).await;
    send(&mut client, beat("a", 2)).await;
    send(&mut client, owning(beat("a", 2), topic, &[0])).await;
    // The answer that told it of epoch 2 did not come through; it says the same again.
    let again = send(&mut client, owning(beat("a", 2), topic, &[0])).await;
    assert_eq!(again.member_epoch, 3);
    assert_eq!(code(&mut client, owning(beat("a", 2), topic, &[0, 1])).await, 110);
    assert_eq!(code(&mut client, beat("a", 2)).await, 110);
    // Fenced, it joins again under the same id.
    let joined = send(&mut client, beat_in("a", &["orders"])).await;
    assert_eq!((joined.member_epoch, assigned(&joined)), (3, Some(vec![0])));
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused() {
    let (broker, topic, mut client) = orders(1).await;
    let join = || beat_in("a", &["orders"]);
    assert_eq!(code(&mut client, join().with_group_id(Default::default())).await, 42);
    assert_eq!(code(&mut client, join().with_member_id(text(""))).await, 42);
    assert_eq!(code(&mut client, join().with_instance_id(Some(text("")))).await, 42);
    assert_eq!(code(&mut client, join().with_rebalance_timeout_ms(-1)).await, 42);
    assert_eq!(code(&mut client, join().with_subscribed_topic_names(None)).await, 42);
    assert_eq!(code(&mut client, owning(join(), topic, &[0])).await, 42);
    assert_eq!(code(&mut client, beat("a", -2)).await, 42);
    assert_eq!(code(&mut client, beat("a", -3)).await, 42);
    assert_eq!(code(&mut client, join().with_server_assignor(Some(text("mine")))).await, 112);
    assert_eq!(code(&mut client, join().with_subscribed_topic_regex(Some(text("or.*")))).await, 128);
    assert_eq!(code(&mut client, beat("a", 2)).await, 69);
    assert!(broker.groups().is_empty());
    send(&mut client, join()).await;
    assert_eq!(code(&mut client, beat("nobody", 2)).await, 25);
}

#[tokio::test]
async fn a_static_member_keeps_its_place_while_it_is_away() {
    let (broker, topic, mut client) = orders(2).await;
    let instance = |request: ConsumerGroupHeartbeatRequest| request.with_instance_id(Some(text("one")));
    send(&mut client, instance(beat_in("a", &["orders"]))).await;
    assert_eq!(code(&mut client, instance(beat_in("b", &["orders"]))).await, 111);
    assert_eq!(code(&mut client, instance(beat("b", 2))).await, 82);
    assert_eq!(send(&mut client, instance(beat("a", -2))).await.member_epoch, -2);
    // Nobody gets its partitions meanwhile.
    let other = send(&mut client, beat_in("other", &["orders"])).await;
    assert_eq!((other.member_epoch, assigned(&other)), (3, Some(vec![])));
    let back = send(&mut client, instance(beat_in("b", &["orders"]))).await;
    assert_eq!(assigned(&back), Some(vec![0]));
    let settled = send(&mut client, instance(owning(beat("b", back.member_epoch), topic, &[0]))).await;
    assert_eq!(settled.member_epoch, 3);
    assert_eq!(assigned(&send(&mut client, beat("other", 3)).await), Some(vec![1]));
    assert_eq!(code(&mut client, instance(beat("a", 2))).await, 82);
    // An administrator removes it by its instance id, through the classic API.
    assert_eq!(client.call(5, &leave("", Some("one"))).await.members[0].error_code, 0);
    assert_eq!(broker.group_members(GROUP).len(), 1);
}

#[tokio::test]
async fn new_partitions_and_topics_are_assigned_and_deleted_ones_taken_back() {
    let (broker, topic, mut client) = orders(1).await;
    send(&mut client, beat_in("a", &["orders", "refunds"])).await;
    let refunds = broker.create_topic("refunds", 1).unwrap();
    let more = send(&mut client, beat("a", 2)).await;
    let topics: Vec<_> = more.assignment.iter().flat_map(|all| &all.topic_partitions).map(|t| t.topic_id).collect();
    assert!(more.member_epoch == 3 && topics.len() == 2 && topics.contains(&refunds));
    broker.delete_topic("refunds").unwrap();
    let fewer = send(&mut client, beat("a", 3)).await;
    assert_eq!((fewer.member_epoch, assigned(&fewer)), (3, Some(vec![0])));
    assert_eq!(send(&mut client, owning(beat("a", 3), topic, &[0])).await.member_epoch, 4);
    let unsubscribed = beat("a", 4).with_subscribed_topic_names(Some(vec![topic_name("nothing")]));
    assert_eq!(assigned(&send(&mut client, unsubscribed).await), Some(vec![]));
}

#[tokio::test]
async fn the_assignor_that_most_ask_for_is_taken() {
    let (_broker, _, mut client) = orders(4).await;
    let range = Some(text("range"));
    send(&mut client, beat_in("b", &["orders"]).with_server_assignor(range.clone())).await;
    send(&mut client, beat_in("a", &["orders"]).with_server_assignor(range)).await;
    // In the order of their ids, not in that of their joining.
    assert_eq!(assigned(&send(&mut client, beat("b", 2)).await), Some(vec![2, 3]));
    let described = client.call(0, &ConsumerGroupDescribeRequest::default().with_group_ids(vec![group()])).await;
    assert_eq!(&*described.groups[0].assignor_name, "range");
}

#[tokio::test]
async fn commits_and_reads_are_fenced_by_member_and_epoch() {
    let (broker, _, mut client) = orders(2).await;
    send(&mut client, beat_in("a", &["orders"])).await;
    let mut code = async |version, request: OffsetCommitRequest| {
        client.call(version, &request).await.topics[0].partitions[0].error_code
    };
    assert_eq!(code(9, commit("a", None, 1)).await, 113);
    assert_eq!(code(9, commit("a", None, 3)).await, 113);
    assert_eq!(code(9, commit("nobody", None, 2)).await, 25);
    assert_eq!(code(9, commit("", None, -1)).await, 25);
    assert_eq!(code(8, commit("a", None, 2)).await, 35);
    assert_eq!(broker.committed(GROUP, "orders", 0), None);
    assert_eq!(code(9, commit("a", None, 2)).await, 0);
    let mut fetch = async |member_id: Option<&str>, epoch| {
        let asked = OffsetFetchRequestGroup::default().with_group_id(group()).with_topics(None);
        let asked = asked.with_member_id(member_id.map(text)).with_member_epoch(epoch);
        let answer = client.call(9, &OffsetFetchRequest::default().with_groups(vec![asked])).await;
        let partition = answer.groups[0].topics.first().map(|topic| topic.partitions[0].clone());
        (answer.groups[0].error_code, partition.map(|one| (one.committed_offset, one.committed_leader_epoch)))
    };
    assert_eq!(fetch(Some("a"), 2).await, (0, Some((1, 4))));
    assert_eq!(fetch(Some("a"), 1).await, (113, None));
    assert_eq!(fetch(Some("nobody"), 1).await, (25, None));
    assert_eq!(fetch(None, -1).await, (0, Some((1, 4))));
}

#[tokio::test]
async fn a_commit_at_an_older_epoch_is_taken_for_partitions_held_since() {
    let (_broker, topic, mut client) = orders(2).await;
    send(&mut client, beat_in("a", &["orders"])).await;
    send(&mut client, beat_in("b", &["orders"])).await;
    send(&mut client, beat("a", 2)).await;
    let code = async |client: &mut Pipe, partitions: &[i32]| {
        let mut request = commit("a", None, 2);
        let one = request.topics[0].partitions[0].clone();
        request.topics[0].partitions = partitions.iter().map(|at| one.clone().with_partition_index(*at)).collect();
        client.call(9, &request).await.topics[0].partitions[0].error_code
    };
    assert_eq!(code(&mut client, &[0, 1]).await, 0);
    send(&mut client, owning(beat("a", 2), topic, &[0])).await;
    assert_eq!(code(&mut client, &[0]).await, 0);
    // All or nothing, as in Kafka.
    assert_eq!(code(&mut client, &[0, 1]).await, 113);
    assert_eq!(code(&mut client, &[1]).await, 113);
}

#[tokio::test]
async fn a_broker_older_than_the_protocol_does_not_offer_it() {
    let broker = Broker::builder().without(Api::ConsumerGroupHeartbeat).start().await.unwrap();
    let mut client = Client::pipe(&broker);
    let offered = client.call(0, &ApiVersionsRequest::default()).await;
    assert!(offered.api_keys.iter().all(|api| api.api_key != 68) && offered.api_keys.len() == Api::ALL.len() - 1);
    assert!(client.try_call(1, &beat_in("a", &["orders"])).await.is_none());
}

#[tokio::test]
async fn a_group_takes_up_the_other_protocol_only_without_members() {
    let (broker, _, mut client) = orders(1).await;
    let joined = client.call(3, &join("", None, &["range"])).await;
    assert_eq!(code(&mut client, beat_in("a", &["orders"])).await, 69);
    client.call(5, &leave(&joined.member_id, None)).await;
    send(&mut client, beat_in("a", &["orders"])).await;
    assert_eq!(client.call(9, &join("", None, &["range"])).await.error_code, 23);
    assert_eq!(client.call(4, &heartbeat("a", None, 1)).await.error_code, 25);
    client.call(9, &commit("a", None, 2)).await;
    send(&mut client, beat("a", -1)).await;
    assert_eq!(client.call(3, &join("", None, &["range"])).await.error_code, 0);
    assert_eq!(broker.committed(GROUP, "orders", 0), Some(1));
}

#[tokio::test]
async fn groups_are_listed_and_described_and_not_deleted_while_they_have_members() {
    let (_broker, topic, mut client) = orders(2).await;
    send(&mut client, beat_in("a", &["orders"]).with_rack_id(Some(text("r1")))).await;
    let list = ListGroupsRequest::default().with_types_filter(vec![text("consumer")]);
    let listed = client.call(5, &list).await.groups;
    let told = (&*listed[0].group_id.0, &*listed[0].group_state, &*listed[0].protocol_type, &*listed[0].group_type);
    assert_eq!(told, (GROUP, "Stable", "consumer", "consumer"));
    let described = client.call(1, &ConsumerGroupDescribeRequest::default().with_group_ids(vec![group()])).await;
    let described = &described.groups[0];
    assert_eq!((described.error_code, described.group_epoch, described.assignment_epoch), (0, 2, 2));
    let member = &described.members[0];
    assert_eq!((&*member.member_id, member.rack_id.as_deref(), member.member_type), ("a", Some("r1"), 1));
    assert_eq!((&*member.client_id, &*member.client_host, member.member_epoch), ("test", "/pipe", 2));
    assert_eq!(member.assignment, member.target_assignment);
    assert_eq!(member.assignment.topic_partitions[0].topic_id, topic);
    assert_eq!(member.assignment.topic_partitions[0].topic_name, topic_name("orders"));
    let other = client.call(6, &DescribeGroupsRequest::default().with_groups(vec![group()])).await;
    assert_eq!((other.groups[0].error_code, &*other.groups[0].group_state), (69, "Dead"));
    let delete = DeleteGroupsRequest::default().with_groups_names(vec![group()]);
    assert_eq!(client.call(2, &delete).await.results[0].error_code, 68);
}

#[tokio::test]
async fn faults_hit_members_like_all_others() {
    let (broker, _, mut client) = orders(1).await;
    let on = || Fault::on(Api::ConsumerGroupHeartbeat);
    broker.inject(on().error(ErrorCode::NOT_COORDINATOR));
    assert_eq!(client.call(1, &beat_in("a", &["orders"])).await.error_code, 16);
    assert!(broker.groups().is_empty());
    broker.inject(on().drop_after_effect());
    assert!(client.try_call(1, &beat_in("a", &["orders"])).await.is_none());
    let mut client = Client::pipe(&broker);
    assert_eq!(assigned(&send(&mut client, beat_in("a", &["orders"])).await), Some(vec![0]));
    assert!(broker.expire_member(GROUP, "a") && !broker.expire_member(GROUP, "a"));
    assert_eq!(code(&mut client, beat("a", 2)).await, 25);
}
