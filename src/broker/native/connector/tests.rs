use std::sync::Mutex;

use tokio::time::Instant;

use super::*;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn addresses_need_a_port() {
    for good in ["broker:9092", "127.0.0.1:9092", "[::1]:9092"] {
        assert!(has_port(good), "{good}");
    }
    for bad in ["broker", "broker:", ":9092", "::1:9092", "::1", "[::1]", "broker:70000", "broker:kafka"] {
        assert!(!has_port(bad), "{bad}");
    }
}

#[test]
fn both_kinds_of_addresses_alternate() {
    let resolved = ["[::1]:1", "[::2]:1", "[::3]:1", "10.0.0.1:1"].map(address).to_vec();
    let expected = ["[::1]:1", "10.0.0.1:1", "[::2]:1", "[::3]:1"].map(address).to_vec();
    assert_eq!(alternating(resolved), expected);
    assert_eq!(alternating(Vec::new()), Vec::new());
}

#[tokio::test(start_paused = true)]
async fn an_address_that_swallows_packets_holds_up_the_others_for_its_head_start_only() {
    let begun = Instant::now();
    let tried = Mutex::new(Vec::new());
    let found = first(["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"].map(address).to_vec(), HEAD_START, |to| {
        tried.lock().unwrap().push((to, begun.elapsed().as_millis()));
        async move {
            match to.to_string().as_str() {
                "10.0.0.1:1" => std::future::pending().await,
                "10.0.0.2:1" => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
                _ => Ok(to),
            }
        }
    });
    assert_eq!(found.await.unwrap(), address("10.0.0.3:1"));
    let tried: Vec<_> = tried.lock().unwrap().iter().map(|(_, millis)| *millis).collect();
    assert_eq!(tried, [0, 250, 250], "a refusal needs no waiting");
}

#[tokio::test]
async fn each_address_is_named_with_its_cause() {
    let refused = |_| async { Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused)) };
    let error = first(["10.0.0.1:1", "[::1]:1"].map(address).to_vec(), HEAD_START, refused).await.unwrap_err();
    assert_eq!(error.to_string(), "10.0.0.1:1: connection refused, [::1]:1: connection refused");
    let error = first(vec![address("10.0.0.1:1")], HEAD_START, refused).await.unwrap_err();
    assert_eq!(error.to_string(), "connection refused");
    let error = first(Vec::new(), HEAD_START, refused).await.unwrap_err();
    assert_eq!(error.to_string(), "the name has no addresses");
}

#[tokio::test]
async fn a_bad_address_and_an_unknown_name_are_told_apart() {
    let error = Tcp.open("::1:9092".to_owned()).await.err().unwrap();
    assert!(error.to_string().contains("[::1]:9092"), "{error}");
    let error = Tcp.open("no-such-host.invalid:9092".to_owned()).await.err().unwrap();
    assert!(error.to_string().starts_with("the name cannot be resolved"), "{error}");
}
