use super::layout::{Field, Layout, Name, Repeats};
use super::value::Value;
use crate::replay::Origin;

/// What one convention's headers, or one envelope's members, tell.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) layout: &'static Layout,
    /// Of the latest hop.
    newest: [Option<Value<'a>>; Field::COUNT],
    /// Of the first hop.
    oldest: [Option<Value<'a>>; Field::OF_A_HOP],
    /// How many hops tell it.
    hops: [u32; Field::OF_A_HOP],
}

impl<'a> Found<'a> {
    /// `values` in the order of the record.
    pub(super) fn of(layout: &'static Layout, values: impl Iterator<Item = Value<'a>>) -> Self {
        let mut found =
            Self { layout, newest: [None; Field::COUNT], oldest: [None; Field::OF_A_HOP], hops: [0; Field::OF_A_HOP] };
        values.for_each(|value| found.add(value));
        found
    }

    fn add(&mut self, value: Value<'a>) {
        let field = value.name.field as usize;
        let same = match self.newest[field] {
            Some(known) if std::ptr::eq(known.name, value.name) => true,
            Some(known) if !before(value.name, known.name) => return,
            _ => false,
        };
        if !same || self.layout.repeats == Repeats::Appended {
            self.newest[field] = Some(value);
        }
        if field < Field::OF_A_HOP {
            self.hops[field] = if same { self.hops[field] + 1 } else { 1 };
            if !same || self.layout.repeats == Repeats::Prepended {
                self.oldest[field] = Some(value);
            }
        }
    }

    /// What the latest hop tells.
    pub(super) fn get(&self, field: Field) -> Option<Value<'a>> {
        self.newest[field as usize]
    }

    /// The same, as it stands there.
    pub(super) fn bytes(&self, field: Field) -> Option<&'a [u8]> {
        self.get(field).map(|value| value.bytes)
    }

    /// Where the record came from first.
    pub(super) fn origin(&self, unreadable: &mut Vec<String>) -> Origin {
        if let Some(source) = self.get(Field::Source) {
            return place(source).unwrap_or_default();
        }
        let whole = |field: Field| {
            // Which of the values belong together cannot be told if a hop lacks one.
            let hops = self.hops[Field::Topic as usize].max(self.hops[Field::Partition as usize]);
            self.hops[field as usize] == hops
        };
        let mut coordinate = |field: Field, most: i64| -> Option<i64> {
            let value = self.oldest[field as usize]?;
            let number = value.integer().filter(|number| (0..=most).contains(number));
            if number.is_none() {
                unreadable.push(format!("{}: {} is no number from 0 on", value.name.name, value.shown()));
            } else if !whole(field) {
                unreadable.push(format!("{}: it is not there for each hop", value.name.name));
                return None;
            }
            number
        };
        let partition = coordinate(Field::Partition, i32::MAX.into()).map(|partition| partition as i32);
        let offset = coordinate(Field::Offset, i64::MAX);
        let topic = self.oldest[Field::Topic as usize];
        let topic = told(topic, "topic's name", unreadable, |topic| topic.text().filter(|topic| !topic.is_empty()));
        let id = |value: Value<'_>| value.text()?.parse().ok();
        Origin {
            topic: topic.map(Into::into),
            topic_id: told(self.get(Field::TopicId), "topic's id", unreadable, id),
            partition,
            offset,
            timestamp: told(self.oldest[Field::Timestamp as usize], "time", unreadable, Value::millis),
        }
    }

    /// Where the record was read from last, if that is not where it came from first.
    pub(super) fn last_hop(&self) -> Option<Origin> {
        if self.hops[Field::Topic as usize] < 2 {
            return None;
        }
        let number = |field| self.get(field).and_then(Value::integer).filter(|number| *number >= 0);
        let topic = self.get(Field::Topic)?.text()?;
        Some(Origin {
            topic: Some(topic.as_ref().into()),
            topic_id: None,
            partition: number(Field::Partition).and_then(|number| number.try_into().ok()),
            offset: number(Field::Offset),
            timestamp: self.get(Field::Timestamp).and_then(Value::millis),
        })
    }

    /// Whether it tells the same last place as another does, and of no other hop: then both are of one hop. For headers only.
    pub(super) fn same_hop(&self, other: &Found<'_>) -> bool {
        let number = |found: &Found<'_>, field| found.get(field).and_then(Value::integer);
        let same = |field| number(self, field).is_some() && number(self, field) == number(other, field);
        // Topics are text in both.
        self.hops[Field::Topic as usize] == 1
            && self.bytes(Field::Topic) == other.bytes(Field::Topic)
            && same(Field::Partition)
            && same(Field::Offset)
    }

    /// Whether its last place is this one.
    pub(super) fn is_from(&self, place: &Origin) -> bool {
        let number = |field| self.get(field).and_then(Value::integer);
        self.bytes(Field::Topic) == place.topic.as_deref().map(str::as_bytes)
            && number(Field::Partition) == place.partition.map(Into::into)
            && number(Field::Offset) == place.offset
    }
}

/// The place that `topic/partition/offset` names.
pub(super) fn place(source: Value<'_>) -> Option<Origin> {
    let source = source.text()?;
    // From the right: partition and offset are numbers.
    let mut parts = source.rsplitn(3, '/');
    let offset = parts.next()?.parse().ok().filter(|offset: &i64| *offset >= 0)?;
    let partition = parts.next()?.parse().ok().filter(|partition: &i32| *partition >= 0)?;
    let topic = parts.next().filter(|topic| !topic.is_empty())?;
    Some(Origin {
        topic: Some(topic.into()),
        topic_id: None,
        partition: Some(partition),
        offset: Some(offset),
        timestamp: None,
    })
}

/// Reads a value that may be there, and notes if it cannot be read.
fn told<'a, T>(
    value: Option<Value<'a>>,
    what: &str,
    unreadable: &mut Vec<String>,
    read: impl FnOnce(Value<'a>) -> Option<T>,
) -> Option<T> {
    let value = value?;
    let read = read(value);
    if read.is_none() {
        unreadable.push(format!("{}: {} is no {what}", value.name.name, value.shown()));
    }
    read
}

/// Whether a name counts before another of the same table.
fn before(name: &'static Name, other: &'static Name) -> bool {
    std::ptr::from_ref(name) < std::ptr::from_ref(other)
}
