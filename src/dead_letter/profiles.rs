use super::context::DeadLetterContext;
use super::format::{DeadLetterFormat, Profile};
use super::names::{self, connect, spring};
use super::values::{Place, Values};

/// Which profiles are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Profiles {
    spring: bool,
    connect: bool,
    plain: bool,
}

/// Where values lie that profiles have under names of their own too.
pub(super) struct Places {
    pub(super) topic: Option<Place>,
    pub(super) partition: Option<Place>,
    pub(super) offset: Option<Place>,
    pub(super) group: Option<Place>,
    pub(super) message: Option<Place>,
    pub(super) error_type: Option<Place>,
    pub(super) backtrace: Option<Place>,
}

impl Profiles {
    pub(super) fn of(format: &DeadLetterFormat) -> Self {
        let [spring, connect, plain] = [Profile::Spring, Profile::Connect, Profile::Plain].map(|it| format.has(it));
        Self { spring, connect, plain }
    }

    /// Whether a header of this name is replaced: what is written is there once, so that headers do not grow from hop to hop
    /// and no value of an earlier hop stands among those of this one.
    pub(super) fn replace(self, name: &[u8]) -> bool {
        names::is_reserved(name)
            || self.spring && names::is_one_of(name, &spring::ALL)
            || self.connect && names::is_one_of(name, &connect::ALL)
            || self.plain && names::is_one_of(name, &[names::PLAIN_ERROR, names::PLAIN_SOURCE])
    }

    pub(super) fn put(self, values: &mut Values, places: &Places, context: &DeadLetterContext) {
        if self.spring {
            put_spring(values, places, context);
        }
        if self.connect {
            put_connect(values, places);
        }
        if self.plain {
            values.again(names::PLAIN_ERROR, places.error_type.as_ref());
            values.text(names::PLAIN_SOURCE, Some(&context.source.to_string()));
        }
    }
}

fn put_spring(values: &mut Values, places: &Places, context: &DeadLetterContext) {
    let source = &context.source;
    values.again(spring::TOPIC, places.topic.as_ref());
    values.number(spring::PARTITION, &source.partition.partition().to_be_bytes());
    values.number(spring::OFFSET, &source.offset.to_be_bytes());
    if let Some(timestamp) = context.source_timestamp {
        values.number(spring::TIMESTAMP, &timestamp.to_be_bytes());
        values.constant(spring::TIMESTAMP_TYPE, "CreateTime");
    }
    values.again(spring::GROUP, places.group.as_ref());
    values.again(spring::EXCEPTION, places.error_type.as_ref());
    values.again(spring::MESSAGE, places.message.as_ref());
    values.again(spring::STACKTRACE, places.backtrace.as_ref());
}

fn put_connect(values: &mut Values, places: &Places) {
    values.again(connect::TOPIC, places.topic.as_ref());
    values.again(connect::PARTITION, places.partition.as_ref());
    values.again(connect::OFFSET, places.offset.as_ref());
    values.again(connect::CONNECTOR, places.group.as_ref());
    values.again(connect::TASK, places.partition.as_ref());
    values.constant(connect::STAGE, "TASK_PUT");
    values.constant(connect::CLASS, "bezoar::Consumer");
    values.again(connect::EXCEPTION, places.error_type.as_ref());
    values.again(connect::MESSAGE, places.message.as_ref());
    values.again(connect::STACKTRACE, places.backtrace.as_ref());
}
