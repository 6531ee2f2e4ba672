use std::time::Duration;

use uuid::Uuid;

use super::{Consumer, Member, Partitions, Phase};

impl Consumer {
    /// Leads a member a step closer to its target. `owned` is what it says to own, where it says so.
    pub(super) fn reconcile(&mut self, now: Duration, at: usize, owned: Option<&Partitions>) {
        let member = &self.members[at];
        if member.is_reconciled(self.assignment_epoch) {
            return;
        }
        let epoch = match member.phase {
            Phase::Stable | Phase::Unreleased => member.epoch,
            Phase::Unrevoked => {
                let has_revoked = owned.is_some_and(|owned| owned.is_disjoint(&member.revoking));
                if !has_revoked {
                    return;
                }
                member.epoch.saturating_add(1)
            }
        };
        let is_held = |partition: &(Uuid, i32)| {
            self.members.iter().enumerate().any(|(other, member)| other != at && member.holds(partition))
        };
        let step = Step::towards(&member.target, &member.assigned, owned, is_held);
        let target_epoch = self.assignment_epoch;
        self.members[at].take(step, now, epoch, target_epoch);
    }
}

/// What is next for a member.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// To give these up, and keep the others.
    Revoke { kept: Partitions, revoking: Partitions },
    /// To have these; more may be released later.
    Have { assigned: Partitions, waits: bool },
}

impl Step {
    fn towards(
        target: &Partitions,
        assigned: &Partitions,
        owned: Option<&Partitions>,
        is_held: impl Fn(&(Uuid, i32)) -> bool,
    ) -> Self {
        let kept: Partitions = assigned & target;
        let revoking: Partitions = assigned - target;
        // One that does not say what it owns may own what it had.
        let owns_revoked = owned.is_none_or(|owned| !owned.is_disjoint(&revoking));
        if !revoking.is_empty() && owns_revoked {
            return Self::Revoke { kept, revoking };
        }
        let (unreleased, free): (Partitions, Partitions) = (target - &kept).into_iter().partition(is_held);
        Self::Have { assigned: &kept | &free, waits: !unreleased.is_empty() }
    }
}

impl Member {
    fn take(&mut self, step: Step, now: Duration, epoch: i32, target_epoch: i32) {
        let epoch = match step {
            Step::Revoke { kept, revoking } => {
                if self.phase != Phase::Unrevoked || self.epoch != epoch {
                    self.revoke_until = Some(now.saturating_add(self.rebalance_timeout));
                }
                (self.phase, self.assigned, self.revoking) = (Phase::Unrevoked, kept, revoking);
                epoch
            }
            Step::Have { assigned, waits } => {
                self.phase = if waits { Phase::Unreleased } else { Phase::Stable };
                (self.assigned, self.revoking, self.revoke_until) = (assigned, Partitions::new(), None);
                target_epoch
            }
        };
        self.previous_epoch = std::mem::replace(&mut self.epoch, epoch);
        let Self { assigned, revoking, since, .. } = self;
        since.retain(|partition, _| assigned.contains(partition) || revoking.contains(partition));
        for partition in assigned.iter() {
            since.entry(*partition).or_insert(epoch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(partitions: &[i32]) -> Partitions {
        partitions.iter().map(|partition| (Uuid::nil(), *partition)).collect()
    }

    fn step(target: &[i32], assigned: &[i32], owned: Option<&[i32]>, held: &[i32]) -> Step {
        let held = set(held);
        Step::towards(&set(target), &set(assigned), owned.map(set).as_ref(), |partition| held.contains(partition))
    }

    #[test]
    fn what_must_go_goes_first_and_nothing_comes_before_it_is_free() {
        let revoke = Step::Revoke { kept: set(&[0]), revoking: set(&[1]) };
        assert_eq!(step(&[0, 2], &[0, 1], None, &[]), revoke);
        assert_eq!(step(&[0, 2], &[0, 1], Some(&[0, 1]), &[]), revoke);
        assert_eq!(step(&[0, 2], &[0, 1], Some(&[0]), &[]), Step::Have { assigned: set(&[0, 2]), waits: false });
        assert_eq!(step(&[0, 2], &[0], None, &[2]), Step::Have { assigned: set(&[0]), waits: true });
        assert_eq!(step(&[0, 2, 3], &[0], None, &[2]), Step::Have { assigned: set(&[0, 3]), waits: true });
    }
}
