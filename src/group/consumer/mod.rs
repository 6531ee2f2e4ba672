//! A member of a group by KIP-848's protocol: the broker divides the partitions, one heartbeat carries everything.

mod answers;
mod holding;
mod member;
mod pace;
#[cfg(test)]
mod tests;
mod told;
mod verdict;

pub(crate) use member::ConsumerMember;
