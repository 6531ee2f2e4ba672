use proptest::prelude::*;

use super::*;

/// Every kind of field, in versions 0 (plain) to 2.
const FIELDS: &[Field] = &[
    since(0, Kind::Fixed(3)),
    since(0, Kind::Text).until(1),
    since(1, Kind::Blob),
    since(0, Kind::Structs(&[since(0, Kind::Text), since(0, Kind::List(&Kind::Fixed(4)))])),
    since(0, Kind::List(&Kind::Text)),
    since(1, Kind::Struct(&[since(0, Kind::Fixed(2))])),
    since(1, Kind::Tagged(0, &Kind::List(&Kind::Text))),
    since(1, Kind::Tagged(3, &Kind::Fixed(8))),
];

/// What is to be written into the fields.
#[derive(Debug, Clone)]
struct Sample {
    text: Option<String>,
    blob: Option<Vec<u8>>,
    structs: Vec<(String, Vec<i32>)>,
    texts: Vec<String>,
    tags: Vec<(u32, Vec<String>)>,
}

fn sample() -> impl Strategy<Value = Sample> {
    let text = "[a-z]{0,200}";
    (
        prop::option::of(text),
        prop::option::of(prop::collection::vec(any::<u8>(), 0..300)),
        prop::collection::vec((text, prop::collection::vec(any::<i32>(), 0..5)), 0..5),
        prop::collection::vec(text, 0..5),
        prop::collection::vec((prop_oneof![Just(0u32), 1..3u32, 4..200u32], prop::collection::vec(text, 0..3)), 0..4),
    )
        .prop_map(|(text, blob, structs, texts, tags)| Sample { text, blob, structs, texts, tags })
}

/// Writes as Kafka does.
struct Writer {
    out: Vec<u8>,
    flexible: bool,
}

impl Writer {
    fn varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }

    fn length(&mut self, length: Option<usize>, wide: bool) {
        match (self.flexible, wide) {
            (true, _) => self.varint(length.map_or(0, |length| length as u32 + 1)),
            (false, true) => self.out.extend(length.map_or(-1, |length| length as i32).to_be_bytes()),
            (false, false) => self.out.extend(length.map_or(-1, |length| length as i16).to_be_bytes()),
        }
    }

    fn text(&mut self, text: Option<&str>) {
        self.length(text.map(str::len), false);
        self.out.extend(text.unwrap_or_default().bytes());
    }

    fn texts(&mut self, texts: &[String]) {
        self.length(Some(texts.len()), true);
        texts.iter().for_each(|text| self.text(Some(text)));
    }

    fn no_tags(&mut self) {
        if self.flexible {
            self.varint(0);
        }
    }
}

fn write(sample: &Sample, version: i16, flexible: bool) -> Vec<u8> {
    let mut writer = Writer { out: vec![1, 2, 3], flexible };
    if version <= 1 {
        writer.text(sample.text.as_deref());
    }
    if version >= 1 {
        writer.length(sample.blob.as_ref().map(Vec::len), true);
        writer.out.extend(sample.blob.iter().flatten());
    }
    writer.length(Some(sample.structs.len()), true);
    for (text, numbers) in &sample.structs {
        writer.text(Some(text));
        writer.length(Some(numbers.len()), true);
        writer.out.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        writer.no_tags();
    }
    writer.texts(&sample.texts);
    if version >= 1 {
        writer.out.extend([9, 9]);
        writer.no_tags();
    }
    if flexible {
        writer.varint(sample.tags.len() as u32 + 1);
        for (tag, texts) in &sample.tags {
            let mut value = Writer { out: Vec::new(), flexible };
            value.texts(texts);
            writer.varint(*tag);
            writer.varint(value.out.len() as u32);
            writer.out.extend(value.out);
        }
        writer.out.extend([3, 8, 0, 0, 0, 0, 0, 0, 0, 7]);
    }
    writer.out
}

proptest! {
    #[test]
    fn what_is_written_is_walked_to_its_end(sample in sample(), version in 0..3i16, after in prop::collection::vec(any::<u8>(), 0..9)) {
        let flexible = version == 2;
        let mut bytes = write(&sample, version, flexible);
        bytes.extend(&after);
        prop_assert_eq!(check(&bytes, FIELDS, version, flexible, 1_000), Ok(&after[..]));
    }

    #[test]
    fn what_is_cut_short_is_an_error(sample in sample(), version in 0..3i16, cut in any::<prop::sample::Index>()) {
        let flexible = version == 2;
        let bytes = write(&sample, version, flexible);
        prop_assert!(check(&bytes[..cut.index(bytes.len())], FIELDS, version, flexible, 1_000).is_err());
    }

    #[test]
    fn any_bytes_end_in_a_result(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xff), Just(0)], 0..200), version in 0..3i16) {
        if let Ok(rest) = check(&bytes, FIELDS, version, version == 2, 1_000) {
            prop_assert!(bytes.ends_with(rest));
        }
    }
}

#[test]
fn more_entries_than_allowed_are_an_error() {
    const NUMBERS: &[Field] = &[since(0, Kind::List(&Kind::Fixed(1)))];
    let bytes = [0, 0, 0, 3, 7, 7, 7];
    assert_eq!(check(&bytes, NUMBERS, 0, false, 3), Ok(&[][..]));
    assert_eq!(check(&bytes, NUMBERS, 0, false, 2).unwrap_err(), "more than 2 array entries");
}

#[test]
fn lengths_that_lie_are_told() {
    const TEXT: &[Field] = &[since(0, Kind::Text)];
    for (bytes, flexible, said) in [
        (&[0xff, 0xfe][..], false, "negative length -2"),
        (&[0, 3, b'a', b'b'], false, "3 bytes expected where 2 are left"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff], true, "number of more than five bytes"),
        (&[1, 0xff, 0xff, 0xff, 0xff, 0x0f], true, "array of 4294967295 entries in 0 bytes"),
    ] {
        assert_eq!(check(bytes, TEXT, 0, flexible, 10).unwrap_err(), said);
    }
}
