use crate::policy::valid_topic_name;
use crate::record::{RecordId, TopicPartition};

/// Reads a dead letter's place, `orders.dlq.poison/0/3`.
pub(in crate::cli) fn parse_place(text: &str) -> Result<RecordId, String> {
    let wrong = |why: &str| {
        format!("{text:?} is no place of a dead letter ({why}): write TOPIC/PARTITION/OFFSET, as `list` shows it")
    };
    let mut parts = text.rsplitn(3, '/');
    let (Some(offset), Some(partition), Some(topic)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong("it needs two slashes"));
    };
    let partition: u32 = partition.parse().map_err(|_| wrong("the partition is no number"))?;
    let partition = i32::try_from(partition).map_err(|_| wrong("the partition is too large"))?;
    let offset: u64 = offset.parse().map_err(|_| wrong("the offset is no number"))?;
    let offset = i64::try_from(offset).map_err(|_| wrong("the offset is too large"))?;
    valid_topic_name(topic).map_err(|why| wrong(&why))?;
    Ok(RecordId { topic_id: None, partition: TopicPartition::new(topic, partition), offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_what_is_shown() {
        assert_eq!(parse_place("orders.dlq.poison/0/3").unwrap().to_string(), "orders.dlq.poison/0/3");
        for wrong in
            ["orders", "orders/0", "orders/x/1", "orders/0/-1", "a/b/0/1", "/0/1", "orders/0/99999999999999999999"]
        {
            assert!(parse_place(wrong).unwrap_err().contains("TOPIC/PARTITION/OFFSET"), "{wrong}");
        }
    }
}
