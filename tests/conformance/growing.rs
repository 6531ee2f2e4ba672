//! Topics that get more partitions.

use bezoar::broker::OffsetSpec;

use crate::fixture::{Fixture, partition, records};

pub(crate) async fn added_partitions_are_written_and_read_at_once(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let admin = &fixture.ports.admin;
    // Who knows the topic by now knows it with one partition.
    fixture.produce(&partition(&topic, 0), records(0..3)).await;
    let first = fixture.read(&partition(&topic, 0), 0).await;
    assert_eq!(first.values(3).await, ["0", "1", "2"]);
    for total in [2, 5] {
        let before = admin.topics(vec![topic.clone()]).await.unwrap()[0].as_ref().unwrap().partitions;
        admin.create_partitions(topic.clone(), total).await.unwrap();
        assert_eq!(admin.topics(vec![topic.clone()]).await.unwrap()[0].as_ref().unwrap().partitions, total);
        for number in before..total {
            let added = partition(&topic, number);
            let reading = fixture.read(&added, 0).await;
            assert_eq!(fixture.produce(&added, records(number..number + 2)).await, [0, 1]);
            assert_eq!(reading.values(2).await, [number.to_string(), (number + 1).to_string()]);
            assert_eq!(admin.offset(added, OffsetSpec::Latest).await.unwrap(), 2);
        }
    }
    fixture.produce(&partition(&topic, 0), records(3..4)).await;
    assert_eq!(first.values(1).await, ["3"], "the first one goes on");
    assert_eq!(first.problems(), []);
}
