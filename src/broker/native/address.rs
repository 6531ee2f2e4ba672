/// The address (`host:port`) of a host as the protocol tells it; an IPv6 address gets its brackets.
pub(super) fn address(host: &str, port: i32) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_addresses_get_brackets() {
        assert_eq!(address("broker-1.example", 9092), "broker-1.example:9092");
        assert_eq!(address("127.0.0.1", 9092), "127.0.0.1:9092");
        assert_eq!(address("::1", 9092).parse(), Ok(std::net::SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 9092))));
    }
}
