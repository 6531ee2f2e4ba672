use super::mark::{Mark, Outcome};

impl Mark {
    /// Takes over from the mark `before` where records of the letter are, or may be.
    pub(super) fn keep_places(&mut self, before: Mark) {
        let (Some(known), Some(lineage)) = (before.lineage, &mut self.lineage) else { return };
        if known.replay_id != lineage.replay_id {
            return;
        }
        let to = match &self.outcome {
            Outcome::Replayed { to } => Some(to),
            _ => None,
        };
        let mut also_at = known.also_at;
        match before.outcome {
            Outcome::Replayed { to } => also_at.push(to),
            Outcome::Claimed { .. } => lineage.doubt(known.target),
            Outcome::Failed { .. } | Outcome::Discarded { .. } => {}
        }
        for record in also_at {
            if to != Some(&record) && !lineage.also_at.contains(&record) {
                lineage.also_at.push(record);
            }
        }
        known.maybe_at.into_iter().for_each(|partition| lineage.doubt(partition));
    }
}

#[cfg(test)]
mod tests {
    use super::super::mark::{Lineage, RunId};
    use super::super::place::parse_record;
    use super::*;
    use crate::record::TopicPartition;

    fn mark(run: u128, replay_id: u128, to: &str) -> Mark {
        let lineage = Lineage {
            replay_id: uuid::Uuid::from_u128(replay_id),
            target: TopicPartition::new("orders", 0),
            origin: None,
            count: 1,
            also_at: Vec::new(),
            maybe_at: Vec::new(),
        };
        Mark {
            topic_id: None,
            outcome: Outcome::Replayed { to: parse_record(to).unwrap() },
            replayed_at: None,
            run: RunId { id: uuid::Uuid::from_u128(run), host: "host".into(), pid: 1 },
            lineage: Some(lineage),
        }
    }

    #[test]
    fn the_records_of_both_runs_are_vouched_for() {
        let mut late = mark(1, 9, "orders/0/8");
        late.keep_places(mark(2, 9, "orders/0/7"));
        late.keep_places(mark(3, 10, "orders/0/6"));
        let vouched = |at: &str| late.vouches_for(uuid::Uuid::from_u128(9), &parse_record(at).unwrap());
        assert_eq!(["orders/0/6", "orders/0/7", "orders/0/8"].map(vouched), [false, true, true]);
    }

    #[test]
    fn a_claim_that_was_lost_leaves_a_doubt() {
        let mut late = mark(1, 9, "orders/1/8");
        let claim = Outcome::Claimed { lease: 1, again: false };
        late.keep_places(Mark { outcome: claim, ..mark(2, 9, "orders/0/7") });
        assert_eq!(late.lineage.unwrap().maybe_at, [TopicPartition::new("orders", 0)]);
    }
}
