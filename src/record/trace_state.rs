/// The most members that a `tracestate` may have.
const MEMBERS: usize = 32;

/// Whether a `tracestate`, which may be several headers, is one.
pub(super) fn is_valid_state<'a>(headers: impl Iterator<Item = &'a str>) -> bool {
    let mut keys = Vec::new();
    for member in headers.flat_map(|header| header.split(',')) {
        let member = member.trim_matches([' ', '\t']);
        if member.is_empty() {
            // The standard lets it be.
            continue;
        }
        let Some((key, value)) = member.split_once('=') else { return false };
        if !is_valid_key(key) || !is_valid_value(value) || keys.contains(&key) || keys.len() == MEMBERS {
            return false;
        }
        keys.push(key);
    }
    true
}

fn is_valid_key(key: &str) -> bool {
    let rest =
        |text: &str| text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/'));
    let letter = |text: &str| text.starts_with(|first: char| first.is_ascii_lowercase());
    match key.split_once('@') {
        None => key.len() <= 256 && letter(key) && rest(key),
        Some((tenant, system)) => {
            let first = tenant.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
            first && tenant.len() <= 241 && rest(tenant) && letter(system) && system.len() <= 14 && rest(system)
        }
    }
}

fn is_valid_value(value: &str) -> bool {
    let printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=');
    (1..=256).contains(&value.len()) && printable && !value.ends_with(' ')
}
