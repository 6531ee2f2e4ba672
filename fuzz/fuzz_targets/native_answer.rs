//! Answers of brokers, of any content, are read or refused without a panic and without setting memory aside for what is not
//! there: each kind of answer that the client knows, in each version that it speaks.

#![no_main]

use bezoar::broker::native::fuzz_answer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (kind, version, frame) = input;
    fuzz_answer(kind, version, frame);
});
