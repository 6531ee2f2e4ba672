use crate::replay::Convention;

/// How a convention lays dead letters out. Its table of names is written so that it can be read beside the documentation
/// of whoever made the convention.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) convention: Convention,
    /// The names that are the convention's own. Where two say the same thing, the first that is there counts.
    pub(super) names: &'static [Name],
    /// A record is of this convention if of each of these groups one is there.
    pub(super) needs: &'static [&'static [Field]],
    /// What it means that a name is there several times.
    pub(super) repeats: Repeats,
    /// Whether the names are of nobody else. Names that anybody may use count only where nothing else is known.
    pub(super) distinct: bool,
}

/// One name: of a header, or of a member of a JSON object.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) name: &'static str,
    pub(super) field: Field,
    pub(super) encoding: Encoding,
}

/// Which of the values under one name is which hop's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    /// Each hop appends its own: the first is the oldest.
    Appended,
    /// Each hop writes its own before those that it copies: the first is the newest.
    Prepended,
}

/// What a value tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Field {
    // Those of a hop first: of these the oldest is looked for too.
    Topic,
    Partition,
    Offset,
    Timestamp,
    TopicId,
    Group,
    Attempts,
    /// Attempts after the first one.
    Retries,
    Category,
    ErrorType,
    Message,
    /// The error's type and message in one, as `Type: message`.
    Error,
    Backtrace,
    FirstFailedAt,
    LastFailedAt,
    ConsumerId,
    ConsumerVersion,
    Fingerprint,
    ReplayCount,
    ReplayOf,
    ReplayId,
    Envelope,
    Truncated,
    OriginalKey,
    OriginalValue,
    OriginalHeaders,
    OriginalBytes,
    /// Topic, partition and offset in one, as `topic/partition/offset`.
    Source,
    /// What is the convention's and tells nothing more.
    Rest,
}

impl Field {
    /// How many fields there are.
    pub(super) const COUNT: usize = Field::Rest as usize + 1;
    /// How many fields belong to a hop.
    pub(super) const OF_A_HOP: usize = Field::Timestamp as usize + 1;

    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// How a value is written. Integers have the length of their convention: whether bytes are text is never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8; numbers in decimal, times RFC 3339 or in decimal milliseconds.
    Text,
    /// Decimal nanoseconds.
    Nanos,
    /// Four bytes, big-endian.
    I32,
    /// Eight bytes, big-endian.
    I64,
    /// Four bytes, big-endian, or one as older versions wrote it.
    I32OrByte,
    /// As few bytes as the number needs, big-endian.
    Minimal,
    /// A JSON value.
    Json,
}

impl Name {
    pub(super) const fn text(name: &'static str, field: Field) -> Self {
        Self::of(name, field, Encoding::Text)
    }

    pub(super) const fn nanos(name: &'static str, field: Field) -> Self {
        Self::of(name, field, Encoding::Nanos)
    }

    pub(super) const fn int(name: &'static str, field: Field) -> Self {
        Self::of(name, field, Encoding::I32)
    }

    pub(super) const fn long(name: &'static str, field: Field) -> Self {
        Self::of(name, field, Encoding::I64)
    }

    pub(super) const fn int_or_byte(name: &'static str, field: Field) -> Self {
        Self::of(name, field, Encoding::I32OrByte)
    }

    pub(super) const fn minimal(name: &'static str, field: Field) -> Self {
        Self::of(name, field, Encoding::Minimal)
    }

    pub(super) const fn json(name: &'static str, field: Field) -> Self {
        Self::of(name, field, Encoding::Json)
    }

    /// A name that is the convention's and tells nothing more.
    pub(super) const fn rest(name: &'static str) -> Self {
        Self::of(name, Field::Rest, Encoding::Text)
    }

    const fn of(name: &'static str, field: Field, encoding: Encoding) -> Self {
        Self { name, field, encoding }
    }
}
