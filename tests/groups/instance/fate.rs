/// What a handler does with a record: decided by the record and the trial's seed alone, so that each redelivery, in
/// whichever process, meets the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Handled at once.
    Passes,
    /// Handled after a wait of so many milliseconds.
    Waits(u64),
    /// Handled after the handler has held its thread for so many milliseconds.
    Blocks(u64),
    /// Fails so many times in each ownership before it is handled.
    Fails(u32),
    /// Never handled: a dead letter at the first attempt.
    Invalid,
    /// Never handled: the handler panics.
    Panics,
}

impl Fate {
    pub(crate) fn of(seed: u64, partition: i32, offset: i64) -> Self {
        let random = mix(seed ^ mix(partition as u64 ^ mix(offset as u64)));
        let (lot, amount) = (random % 1_000, random >> 32);
        match lot {
            0..8 => Self::Panics,
            8..20 => Self::Invalid,
            20..50 => Self::Fails(1 + (amount % 2) as u32),
            50..65 => Self::Waits(150 + amount % 300),
            65..73 => Self::Blocks(50 + amount % 200),
            73..500 => Self::Waits(amount % 3),
            _ => Self::Passes,
        }
    }

    /// Whether its record ends as a dead letter rather than handled.
    pub(crate) fn is_deadly(self) -> bool {
        matches!(self, Self::Invalid | Self::Panics)
    }
}

/// SplitMix64's way to make neighbouring numbers look unrelated.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
