use proptest::prelude::*;

use super::*;

fn subscription() -> Subscription {
    Subscription {
        topics: ["orders", "payments"].map(str::to_owned).into(),
        owned: vec![
            TopicPartition::new("orders", 2),
            TopicPartition::new("orders", 0),
            TopicPartition::new("payments", 1),
        ],
        generation: 7,
        rack: Some("eu-1a".to_owned()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The subscription above, as written by Kafka's Java client 4.3.1 (`ConsumerProtocol.serializeSubscription`).
const JAVA_SUBSCRIPTION: &str = "00030000000200066f726465727300087061796d656e747300000004000000070000000200066f726465727300000002000000000000000200087061796d656e7473000000010000000100000007000565752d3161";
/// `orders` 0 and 2, `payments` 1, by the same client's `serializeAssignment`.
const JAVA_ASSIGNMENT: &str =
    "00030000000200066f726465727300000002000000000000000200087061796d656e74730000000100000001ffffffff";

#[test]
fn what_is_written_is_what_the_java_client_writes() {
    assert_eq!(hex(&subscription().encode(true).unwrap()), JAVA_SUBSCRIPTION);
    let mut owned = subscription().owned;
    assert_eq!(hex(&encode_assignment(&owned).unwrap()), JAVA_ASSIGNMENT);
    owned.sort();
    assert_eq!(decode_assignment(&unhex(JAVA_ASSIGNMENT)).unwrap(), owned);
    assert_eq!(Subscription::decode(&unhex(JAVA_SUBSCRIPTION)).unwrap(), Subscription { owned, ..subscription() });
}

#[test]
fn every_version_is_read_and_later_ones_by_what_the_third_holds() {
    let topics = "00000001 0006 6f7264657273";
    let owned = "00000001 0006 6f7264657273 00000001 00000003";
    let read = |text: String| Subscription::decode(&unhex(&text)).unwrap();
    let bare = Subscription { topics: ["orders".to_owned()].into(), owned: Vec::new(), generation: -1, rack: None };
    assert_eq!(read(format!("0000 {topics} ffffffff")), bare);
    let with = Subscription { owned: vec![TopicPartition::new("orders", 3)], ..bare.clone() };
    assert_eq!(read(format!("0001 {topics} ffffffff {owned}")), with);
    let with = Subscription { generation: 9, ..with };
    assert_eq!(read(format!("0002 {topics} ffffffff {owned} 00000009")), with);
    let with = Subscription { rack: Some("r".to_owned()), ..with };
    assert_eq!(read(format!("0003 {topics} ffffffff {owned} 00000009 0001 72")), with);
    assert_eq!(read(format!("0007 {topics} ffffffff {owned} 00000009 0001 72 deadbeef")), with);
}

#[test]
fn the_generation_of_old_clients_is_read_from_their_user_data() {
    let topics = "00000001 0006 6f7264657273";
    let owned = "00000001 0006 6f7264657273 00000001 00000003";
    let read = |text: String| Subscription::decode(&unhex(&text)).unwrap();
    // A cooperative client of the first versions: the generation alone.
    let alone = read(format!("0001 {topics} 00000004 00000005 {owned}"));
    assert_eq!((alone.generation, alone.owned.len()), (5, 1));
    // What the sticky assignors write: what was owned, then the generation.
    let sticky = read(format!("0000 {topics} 00000018 {owned} 00000005"));
    assert_eq!((sticky.generation, sticky.owned), (5, vec![TopicPartition::new("orders", 3)]));
    // Without a generation, as the first of them did.
    let first = read(format!("0000 {topics} 00000014 {owned}"));
    assert_eq!((first.generation, first.owned.len()), (-1, 1));
    // What says nothing to us.
    let other = read(format!("0000 {topics} 00000003 010203"));
    assert_eq!((other.generation, other.owned.len()), (-1, 0));
    // The field of later versions counts for more.
    assert_eq!(read(format!("0002 {topics} 00000004 00000005 {owned} 00000009")).generation, 9);
}

#[test]
fn damage_is_told() {
    for damaged in [
        "",
        "00",
        "ffff 00000000 ffffffff",
        // Two thousand million topics.
        "0001 7fffffff",
        "0001 00000001 0006 6f72",
        // A topic without a name, one that is not text, a negative length.
        "0001 00000001 ffff ffffffff 00000000",
        "0001 00000001 0002 c328 ffffffff 00000000",
        "0001 00000001 fffe ffffffff 00000000",
        "0001 00000000 fffffffe 00000000",
        // Two thousand million partitions.
        "0001 00000000 ffffffff 00000001 0001 61 7fffffff 00000000",
        "0001 00000000 ffffffff fffffffe",
    ] {
        assert!(Subscription::decode(&unhex(damaged)).is_err(), "{damaged}");
    }
    assert!(decode_assignment(&unhex("0001 00000001 0001 61 7fffffff 00000000")).is_err());
    assert_eq!(decode_assignment(&[]), Ok(Vec::new()));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        topics in prop::collection::btree_set("[a-z]{1,9}", 0..5),
        owned in prop::collection::btree_set(("[a-z]{1,9}", 0..9i32), 0..9),
        generation in -1..9i32,
        rack in prop::option::of("[a-z]{0,5}"),
        cooperative: bool,
    ) {
        let owned: Vec<_> = owned.into_iter().map(|(topic, number)| TopicPartition::new(topic, number)).collect();
        prop_assert_eq!(&decode_assignment(&encode_assignment(&owned).unwrap()).unwrap(), &owned);
        let subscription = Subscription { topics, owned, generation, rack };
        prop_assert_eq!(Subscription::decode(&subscription.encode(cooperative).unwrap()).unwrap(), subscription);
    }

    #[test]
    fn whatever_is_cut_off_or_changed_is_read_or_refused(cut in 0..200usize, at in 0..200usize, to: u8, noise: Vec<u8>) {
        let mut bytes = subscription().encode(true).unwrap().to_vec();
        let end = cut.min(bytes.len());
        if cut < bytes.len() {
            prop_assert!(Subscription::decode(&bytes[..end]).is_err());
        }
        let place = at % bytes.len();
        bytes[place] = to;
        let _ = Subscription::decode(&bytes);
        let _ = decode_assignment(&bytes);
        let _ = Subscription::decode(&noise);
        let _ = decode_assignment(&noise);
    }
}
