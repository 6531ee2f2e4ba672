use std::cell::OnceCell;

use super::entry::{Entry, State};
use super::facts::Facts;
use super::filter::Filter;
use super::letter::DeadLetter;
use super::marks::{Index, Place};
use crate::record::{HeaderRef, Record, RecordBatchBuilder};

/// A record of a dead-letter topic while it is decided whether anybody wants it: looked at as little as possible.
pub(super) struct Sight<'a> {
    pub(super) record: &'a Record,
    marks: &'a Index,
    look: OnceCell<Look<'a>>,
}

enum Look<'a> {
    Glance(Facts<'a>),
    Whole(Box<DeadLetter>),
}

impl<'a> Sight<'a> {
    pub(super) fn new(record: &'a Record, marks: &'a Index) -> Self {
        Self { record, marks, look: OnceCell::new() }
    }

    fn place(&self) -> Place {
        Place::new(self.record.partition().partition(), self.record.offset())
    }

    /// What became of it.
    pub(super) fn state(&self) -> State {
        self.marks.state(self.place())
    }

    /// Whether the filter means it.
    pub(super) fn fits(&self, filter: &Filter) -> bool {
        let time_fits = filter.fits_time(self.record.timestamp());
        if !time_fits || !filter.states.include(self.marks.is_resolved(self.place())) {
            return false;
        }
        !filter.looks_inside() || (filter.fits(&self.facts()) && self.fits_headers(filter))
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        match self.look() {
            Look::Glance(facts) => *facts,
            Look::Whole(letter) => Facts::of(letter),
        }
    }

    /// The dead letter, owned.
    pub(super) fn into_entry(self) -> Entry {
        let state = self.state();
        let letter = match self.look.into_inner() {
            Some(Look::Whole(letter)) => *letter,
            _ => DeadLetter::from_record(self.record),
        };
        entry(self.record, letter, state)
    }

    fn look(&self) -> &Look<'a> {
        self.look.get_or_init(|| match Facts::glance(self.record) {
            Some(facts) => Look::Glance(facts),
            None => Look::Whole(Box::new(DeadLetter::from_record(self.record))),
        })
    }

    fn fits_headers(&self, filter: &Filter) -> bool {
        if filter.header.is_none() {
            return true;
        }
        if let Look::Whole(letter) = self.look() {
            return filter.fits_headers(letter.headers.iter().map(|it| (&*it.name, it.value.as_deref())));
        }
        // What is not among all headers is not among the original ones, which others may have been told from.
        let all = self.record.headers().iter().map(|HeaderRef { name, value }| (name, value));
        filter.fits_headers(all) && {
            let letter = DeadLetter::from_record(self.record);
            filter.fits_headers(letter.headers.iter().map(|it| (&*it.name, it.value.as_deref())))
        }
    }
}

/// The dead letter that a record is, with what became of it.
pub(super) fn read(record: &Record, state: State) -> Entry {
    entry(record, DeadLetter::from_record(record), state)
}

fn entry(record: &Record, letter: DeadLetter, state: State) -> Entry {
    Entry { at: record.id(), timestamp: record.timestamp(), letter, state, duplicate_of: None }
}

/// A copy of a record that does not keep those around it in memory.
pub(super) fn apart(record: &Record) -> Record {
    let id = record.id();
    let headers: Vec<_> = record.headers().iter().collect();
    let bytes = cost(record);
    let mut copy = RecordBatchBuilder::new(id.partition, id.topic_id).reserve(1, bytes);
    copy.push(id.offset, record.timestamp(), record.key(), record.value(), headers.into_iter());
    // It has the record that was pushed.
    copy.build(id.offset + 1).get(0).unwrap_or_else(|| record.clone())
}

/// About how many bytes a copy of a record takes.
pub(super) fn cost(record: &Record) -> usize {
    let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    let headers = record.headers().iter().map(|header| header.name.len() + length(header.value) + 4);
    length(record.key()) + length(record.value()) + headers.sum::<usize>()
}
