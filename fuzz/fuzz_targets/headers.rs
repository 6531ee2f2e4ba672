//! Records of any content go into a batch and come out of it as they were: null and empty apart, headers with their
//! order, duplicates and nulls.

#![no_main]

use bezoar::record::{HeaderRef, RecordBatchBuilder, TopicPartition};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    offset_step: u16,
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

fuzz_target!(|inputs: Vec<Input>| {
    let mut builder = RecordBatchBuilder::new(TopicPartition::new("fuzzed", 0), None);
    let mut offsets = Vec::new();
    let mut next = 0i64;
    for input in &inputs {
        let offset = next + i64::from(input.offset_step);
        let headers = input.headers.iter().map(|(name, value)| HeaderRef { name, value: value.as_deref() });
        builder.push(offset, input.timestamp, input.key.as_deref(), input.value.as_deref(), headers);
        offsets.push(offset);
        next = offset + 1;
    }
    let batch = builder.build(next);

    assert_eq!(batch.len(), inputs.len());
    assert_eq!(batch.next_offset(), next);
    for (index, (input, offset)) in inputs.iter().zip(offsets).enumerate() {
        let record = batch.get(index).expect("a record for each that was pushed");
        assert_eq!(batch.index_of(offset), index);
        assert_eq!(record.offset(), offset);
        assert_eq!(record.timestamp(), input.timestamp);
        assert_eq!(record.key(), input.key.as_deref());
        assert_eq!(record.value(), input.value.as_deref());
        assert_eq!(record.key_bytes().as_deref(), input.key.as_deref());
        assert_eq!(record.value_bytes().as_deref(), input.value.as_deref());
        assert_eq!(record.headers().len(), input.headers.len());
        let read = record.headers().iter().map(|header| (header.name, header.value));
        let written = input.headers.iter().map(|(name, value)| (name.as_slice(), value.as_deref()));
        assert!(read.eq(written), "headers changed: {:?}", input.headers);
    }
});
