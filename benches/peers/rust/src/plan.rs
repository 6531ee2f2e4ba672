//! What the topics hold: each record follows from its number.

use std::fmt::Write;

use crate::job::PARTITIONS;
use crate::measure::Tally;

/// What a topic is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// All orders are fine.
    Good,
    /// Every record fails: half in decoding, half in the handler.
    Storm,
    /// 1 % is no JSON, 1 % is refused, 0.1 % fails twice.
    Mixed,
}

/// What becomes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Handled,
    /// Not JSON: cut off.
    Undecodable,
    /// A negative amount.
    Refused,
    /// Handled at the third attempt.
    Busy,
}

impl Plan {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "good" => Some(Self::Good),
            "storm" => Some(Self::Storm),
            "mixed" => Some(Self::Mixed),
            _ => None,
        }
    }

    /// The fate of record number `index`; its partition is `index` modulo the number of partitions.
    pub fn fate(self, index: u64) -> Fate {
        let place = index / PARTITIONS as u64;
        match self {
            Self::Good => Fate::Handled,
            Self::Storm if place.is_multiple_of(2) => Fate::Undecodable,
            Self::Storm => Fate::Refused,
            Self::Mixed if place % 100 == 17 => Fate::Undecodable,
            Self::Mixed if place % 100 == 53 => Fate::Refused,
            Self::Mixed if place % 1_000 == 99 => Fate::Busy,
            Self::Mixed => Fate::Handled,
        }
    }

    /// What a consumer of `records` records must have counted.
    pub fn expected(self, records: u64) -> Tally {
        let mut expected = Tally { records, ..Tally::default() };
        let mut value = String::new();
        for index in 0..records {
            write_value(&mut value, index, self.fate(index));
            expected.bytes += value.len() as u64;
            match self.fate(index) {
                Fate::Undecodable => expected.decode += 1,
                Fate::Refused => expected.refused += 1,
                Fate::Busy => expected.retries += 2,
                Fate::Handled => {}
            }
            if matches!(self.fate(index), Fate::Handled | Fate::Busy) {
                expected.sum += amount(index);
            }
        }
        expected
    }
}

fn amount(index: u64) -> i64 {
    (index % 100_000) as i64 + 100
}

/// The key of record number `index`.
pub fn key(index: u64) -> String {
    format!("customer-{:05}", index % 10_000)
}

/// The two headers of record number `index`. Their names ascend, since one of the clients sorts them.
pub fn headers(index: u64) -> [(&'static str, String); 2] {
    [("source", "shop".to_owned()), ("trace-id", format!("{index:016x}"))]
}

/// Replaces `value` by the value of record number `index`: about 200 bytes of JSON.
pub fn write_value(value: &mut String, index: u64, fate: Fate) {
    let amount = if fate == Fate::Refused { -amount(index) } else { amount(index) };
    let carrier = if fate == Fate::Busy { "busy" } else { "post" };
    let (count, price) = (index % 9 + 1, index % 1_000 + 50);
    value.clear();
    // Writing to a string cannot fail.
    let _ = write!(
        value,
        r#"{{"id":{index},"customer":"customer-{:05}","amount":{amount},"currency":"EUR","carrier":"{carrier}","items":[{{"sku":"tea-{:02}","count":{count},"price":{price}}},{{"sku":"cup-{:02}","count":1,"price":{price}}}],"note":"at the door"}}"#,
        index % 10_000,
        index % 100,
        index % 50,
    );
    if fate == Fate::Undecodable {
        value.truncate(value.len() * 3 / 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{Ledger, Order, OrderError};

    #[test]
    fn records_meet_their_fates() {
        let mut value = String::new();
        for plan in [Plan::Good, Plan::Storm, Plan::Mixed] {
            let mut ledger = Ledger::default();
            for index in (0..20_000).step_by(PARTITIONS as usize) {
                write_value(&mut value, index, plan.fate(index));
                let order = serde_json::from_str::<Order>(&value);
                let met = match &order {
                    Err(_) => Fate::Undecodable,
                    Ok(order) => match (ledger.handle(order, 1), ledger.handle(order, 3)) {
                        (Err(OrderError::Negative(_)), Err(_)) => Fate::Refused,
                        (Err(OrderError::Busy), Ok(())) => Fate::Busy,
                        (Ok(()), Ok(())) => Fate::Handled,
                        other => panic!("{other:?}"),
                    },
                };
                assert_eq!(met, plan.fate(index), "{value}");
            }
            assert_eq!(ledger.disorder, 0);
        }
    }

    #[test]
    fn a_plan_knows_its_shares() {
        let mixed = Plan::Mixed.expected(100_000);
        assert_eq!((mixed.decode, mixed.refused, mixed.retries), (1_000, 1_000, 200));
        let storm = Plan::Storm.expected(1_000);
        assert_eq!((storm.decode, storm.refused, storm.sum), (500, 500, 0));
    }
}
