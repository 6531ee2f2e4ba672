//! Committed offsets of groups.

use bezoar::broker::{CommittedOffset, ErrorCode};

use crate::fixture::{Fixture, partition, unique};

fn committed(topic: &str, number: i32, offset: i64, metadata: &str) -> CommittedOffset {
    CommittedOffset { partition: partition(topic, number), offset, metadata: metadata.to_owned(), leader_epoch: None }
}

pub(crate) async fn commits_are_fetched_with_their_metadata(fixture: &Fixture) {
    let (first, second) = (fixture.topic(2).await, fixture.topic(1).await);
    let (store, group) = (&fixture.ports.offsets, unique("group"));
    let offsets = vec![
        committed(&first, 1, 17, "note: läuft"),
        committed(&second, 0, 0, ""),
        committed(&first, 0, i64::MAX, "x"),
    ];
    assert_eq!(store.commit(group.clone(), offsets.clone()).await.unwrap(), [Ok(()), Ok(()), Ok(())]);
    let partitions = offsets.iter().map(|committed| committed.partition.clone()).collect();
    let found = store.fetch(group.clone(), partitions).await.unwrap();
    assert_eq!(found, offsets.into_iter().map(Some).collect::<Vec<_>>());

    store.commit(group.clone(), vec![committed(&first, 1, 18, "")]).await.unwrap();
    let found = store.fetch(group, vec![partition(&first, 1)]).await.unwrap();
    assert_eq!(found, [Some(committed(&first, 1, 18, ""))]);
}

pub(crate) async fn leader_epochs_are_kept_beside_offsets(fixture: &Fixture) {
    let topic = fixture.topic(2).await;
    let (store, group) = (&fixture.ports.offsets, unique("group"));
    let with = |number, leader_epoch| CommittedOffset { leader_epoch, ..committed(&topic, number, 3, "") };
    let offsets = vec![with(0, Some(7)), with(1, None)];
    assert_eq!(store.commit(group.clone(), offsets.clone()).await.unwrap(), [Ok(()), Ok(())]);
    let found = store.fetch(group, vec![partition(&topic, 0), partition(&topic, 1)]).await.unwrap();
    assert_eq!(found, offsets.into_iter().map(Some).collect::<Vec<_>>());
}

pub(crate) async fn what_was_never_committed_is_none(fixture: &Fixture) {
    let topic = fixture.topic(2).await;
    let (store, group) = (&fixture.ports.offsets, unique("group"));
    let both = vec![partition(&topic, 0), partition(&topic, 1)];
    assert_eq!(store.fetch(group.clone(), both.clone()).await.unwrap(), [None, None], "no such group");
    store.commit(group.clone(), vec![committed(&topic, 1, 5, "")]).await.unwrap();
    assert_eq!(store.fetch(group, both).await.unwrap(), [None, Some(committed(&topic, 1, 5, ""))]);
}

pub(crate) async fn groups_do_not_see_each_other(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let (store, one, other) = (&fixture.ports.offsets, unique("group"), unique("group"));
    store.commit(one.clone(), vec![committed(&topic, 0, 5, "")]).await.unwrap();
    assert_eq!(store.fetch(other, vec![partition(&topic, 0)]).await.unwrap(), [None]);
    assert_eq!(store.fetch(one, vec![partition(&topic, 0)]).await.unwrap(), [Some(committed(&topic, 0, 5, ""))]);
}

pub(crate) async fn committing_to_an_unknown_topic_fails_for_it_alone(fixture: &Fixture) {
    let (topic, missing) = (fixture.topic(1).await, unique("missing"));
    let (store, group) = (&fixture.ports.offsets, unique("group"));
    let offsets = vec![committed(&missing, 0, 1, ""), committed(&topic, 0, 2, "")];
    let results = store.commit(group.clone(), offsets).await.unwrap();
    let error = results[0].as_ref().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    assert!(error.to_string().contains(&missing), "{error}");
    assert_eq!(results[1], Ok(()));
    assert_eq!(store.fetch(group, vec![partition(&topic, 0)]).await.unwrap(), [Some(committed(&topic, 0, 2, ""))]);
}

pub(crate) async fn a_deleted_group_has_no_offsets(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let (store, group) = (&fixture.ports.offsets, unique("group"));
    store.commit(group.clone(), vec![committed(&topic, 0, 5, "")]).await.unwrap();
    store.delete_group(group.clone()).await.unwrap();
    assert_eq!(store.fetch(group, vec![partition(&topic, 0)]).await.unwrap(), [None]);
}

pub(crate) async fn deleting_an_unknown_group_is_an_error_with_its_code(fixture: &Fixture) {
    let error = fixture.ports.offsets.delete_group(unique("group")).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::GROUP_ID_NOT_FOUND));
}
