use std::collections::{BTreeMap, HashMap};

use futures_util::future::join_all;

use crate::broker::{Admin, BrokerError, OffsetSpec};
use crate::record::TopicPartition;

/// An offset to be asked for.
pub(super) type Wanted = (TopicPartition, OffsetSpec);

/// What an offset was asked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Spec {
    Earliest,
    Latest,
    Time,
}

/// The offsets that the broker told.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    found: HashMap<(TopicPartition, Spec), i64>,
    /// Why some are missing.
    pub(super) trouble: Option<BrokerError>,
}

impl Offsets {
    /// Asks for all together; where the broker cannot tell some, topic by topic.
    pub(super) async fn ask(admin: &dyn Admin, wanted: Vec<Wanted>) -> Result<Self, BrokerError> {
        if wanted.is_empty() {
            return Ok(Self::default());
        }
        let error = match admin.offsets(wanted.clone()).await {
            Ok(offsets) => return Ok(Self { found: pairs(wanted, offsets).collect(), trouble: None }),
            Err(error) => error,
        };
        let mut by_topic = BTreeMap::<String, Vec<Wanted>>::new();
        for one in wanted {
            by_topic.entry(one.0.topic().to_owned()).or_default().push(one);
        }
        if by_topic.len() < 2 {
            return Err(error);
        }
        let each = by_topic.into_values().map(|wanted| async move {
            let offsets = admin.offsets(wanted.clone()).await.ok()?;
            Some(pairs(wanted, offsets))
        });
        let found: HashMap<_, _> = join_all(each).await.into_iter().flatten().flatten().collect();
        if found.is_empty() { Err(error) } else { Ok(Self { found, trouble: Some(error) }) }
    }

    pub(super) fn of(&self, partition: &TopicPartition, spec: Spec) -> Option<i64> {
        self.found.get(&(partition.clone(), spec)).copied()
    }
}

fn pairs(wanted: Vec<Wanted>, offsets: Vec<i64>) -> impl Iterator<Item = ((TopicPartition, Spec), i64)> {
    let spec = |spec| match spec {
        OffsetSpec::Earliest => Spec::Earliest,
        OffsetSpec::Latest | OffsetSpec::MaxTimestamp => Spec::Latest,
        OffsetSpec::Timestamp(_) => Spec::Time,
    };
    wanted.into_iter().map(move |(partition, asked)| (partition, spec(asked))).zip(offsets)
}
