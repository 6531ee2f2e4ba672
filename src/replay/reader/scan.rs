use std::borrow::Cow;
use std::sync::LazyLock;

use super::conventions::{BEZOAR, CONNECT, KIP_1191, LAYOUTS, LINEAGE_PLACE, PLAIN, SPRING};
use super::found::{Found, place};
use super::layout::{Field, Name};
use super::value::Value;
use crate::record::HeaderRef;

/// The headers that any convention knows, found in one pass.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    slots: Vec<Slot<'a>>,
    /// By layout: which fields are there, a bit each.
    seen: [u32; LAYOUTS.len()],
    /// By layout: where the last header stands that tells a hop.
    last: [usize; LAYOUTS.len()],
}

/// One header under a name that a layout knows.
#[derive(Debug)]
struct Slot<'a> {
    layout: usize,
    /// Which of the record's headers.
    position: usize,
    name: &'static Name,
    value: Option<&'a [u8]>,
}

/// A set of layouts, a bit each.
pub(super) type Layouts = u32;

/// By length: the layouts' places and their names. A name that several know is there as often.
static NAMES: LazyLock<Vec<Vec<(usize, &'static Name)>>> = LazyLock::new(|| {
    let mut names: Vec<Vec<_>> = Vec::new();
    for (place, layout) in LAYOUTS.iter().enumerate() {
        for name in layout.names {
            let length = name.name.len();
            if names.len() <= length {
                names.resize_with(length + 1, Vec::new);
            }
            names[length].push((place, name));
        }
    }
    names
});

/// The layouts that know a name.
pub(super) fn layouts_of(name: &[u8]) -> Layouts {
    known(name).fold(0, |layouts, (place, _)| layouts | 1 << place)
}

/// Whether a replay adds headers of this name.
pub(super) fn is_lineage(name: &[u8]) -> bool {
    known(name).any(|(place, _)| place == LINEAGE_PLACE)
}

fn known(name: &[u8]) -> impl Iterator<Item = (usize, &'static Name)> {
    let names = NAMES.get(name.len()).map_or(&[][..], Vec::as_slice);
    names.iter().filter(move |(_, known)| known.name.as_bytes() == name).copied()
}

impl<'a> Scan<'a> {
    pub(super) fn of(headers: impl Iterator<Item = HeaderRef<'a>>) -> Self {
        let mut scan = Self { slots: Vec::with_capacity(SLOTS), seen: [0; LAYOUTS.len()], last: [0; LAYOUTS.len()] };
        for (position, header) in headers.enumerate() {
            for (layout, name) in known(header.name) {
                scan.slots.push(Slot { layout, position, name, value: header.value });
                scan.seen[layout] |= name.field.bit();
                if TELLS_A_HOP & name.field.bit() != 0 {
                    scan.last[layout] = position;
                }
            }
        }
        scan
    }

    fn is_complete(&self, place: usize) -> bool {
        let seen = self.seen[place];
        let needs = LAYOUTS[place].needs;
        seen != 0 && !needs.is_empty() && needs.iter().all(|any| any.iter().any(|field| seen & field.bit() != 0))
    }

    fn found(&self, place: usize) -> Found<'a> {
        let of_it = self.slots.iter().filter(|slot| slot.layout == place);
        Found::of(LAYOUTS[place], of_it.filter_map(|slot| Some(Value { name: slot.name, bytes: slot.value? })))
    }

    /// What the latest hop's convention tells, where its names are nobody else's, and which layouts' headers that hop wrote.
    ///
    /// Hops append, so the convention whose headers stand last is the latest. Of ours there is one set, the latest one; what
    /// tells the same place beside it in another convention is a profile of ours.
    pub(super) fn latest(&self) -> Option<(Found<'a>, Layouts)> {
        let bezoar = self.is_complete(BEZOAR).then(|| self.found(BEZOAR));
        let mut profiles = 0;
        if let Some(bezoar) = &bezoar {
            profiles |= 1 << KIP_1191;
            for place in [SPRING, CONNECT] {
                if self.is_complete(place) && self.found(place).same_hop(bezoar) {
                    profiles |= 1 << place;
                }
            }
            if self.is_complete(PLAIN) && self.is_plain_of(bezoar) {
                profiles |= 1 << PLAIN;
            }
        }
        let distinct = |place: &usize| LAYOUTS[*place].distinct && profiles & 1 << *place == 0;
        let complete = (0..LAYOUTS.len()).filter(distinct).filter(|place| self.is_complete(*place));
        match complete.max_by_key(|place| self.last[*place])? {
            BEZOAR => bezoar.map(|found| (found, 1 << BEZOAR | profiles)),
            place => Some((self.found(place), 1 << place)),
        }
    }

    /// Whether the plain headers say what ours say: a user may have headers of these names.
    fn is_plain_of(&self, bezoar: &Found<'_>) -> bool {
        let plain = self.found(PLAIN);
        plain.bytes(Field::ErrorType) == bezoar.bytes(Field::ErrorType)
            && plain.get(Field::Source).and_then(place).is_some_and(|source| bezoar.is_from(&source))
    }

    /// The same for conventions whose names anybody may use.
    pub(super) fn likely(&self) -> Option<(Found<'a>, Layouts)> {
        let complete = (0..LAYOUTS.len()).filter(|place| !LAYOUTS[*place].distinct && self.is_complete(*place));
        let mut founds = complete.map(|place| (self.found(place), 1 << place));
        founds.find(|(found, _)| found.get(Field::Source).is_none_or(|source| place(source).is_some()))
    }

    /// What the last replay added.
    pub(super) fn lineage(&self, field: Field) -> Option<Cow<'a, str>> {
        let of_it = |slot: &&Slot<'_>| slot.layout == LINEAGE_PLACE && slot.name.field == field;
        let slot = self.slots.iter().rev().find(of_it)?;
        Value { name: slot.name, bytes: slot.value? }.text()
    }

    /// Hands over the headers that are of none of `layouts`, lineage aside.
    pub(super) fn others<'h, H: 'h>(
        &'h self,
        layouts: Layouts,
        headers: impl Iterator<Item = H> + 'h,
    ) -> impl Iterator<Item = H> + 'h {
        let layouts = layouts | 1 << LINEAGE_PLACE;
        let mut stripped = self.slots.iter().filter(move |slot| layouts & 1 << slot.layout != 0).peekable();
        headers.enumerate().filter_map(move |(position, header)| {
            let mut is_stripped = false;
            while stripped.next_if(|slot| slot.position <= position).is_some() {
                is_stripped = true;
            }
            (!is_stripped).then_some(header)
        })
    }
}

/// A dead letter of ours has some twenty, six of which two layouts know.
const SLOTS: usize = 32;

/// What tells where a hop's set of headers stands. Its group does not: two layouts share that name.
const TELLS_A_HOP: u32 = Field::Topic.bit()
    | Field::Partition.bit()
    | Field::Offset.bit()
    | Field::ErrorType.bit()
    | Field::Message.bit()
    | Field::Attempts.bit()
    | Field::Category.bit();
