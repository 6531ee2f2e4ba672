use console::Style;
use similar::{ChangeTag, TextDiff};

use crate::cli::exit::CliError;
use crate::cli::output::bytes::{self, Kind};
use crate::cli::output::{Out, note};
use crate::replay::Fixed;

/// What a fix makes of one record.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Change {
    /// The dead letter's place.
    pub(in crate::cli) at: String,
    /// What would be sent without the fix.
    pub(in crate::cli) before: Fixed,
    /// What is sent with it.
    pub(in crate::cli) after: Fixed,
}

/// Shows what changes: lines of the value, JSON spread out so that lines are its parts. Key and headers too, where they change.
pub(in crate::cli) fn show(change: &Change, out: &mut Out) -> Result<(), CliError> {
    let (before, after) = (&change.before, &change.after);
    if before == after {
        return tell(&format!("{}: unchanged\n", change.at), out);
    }
    tell(&format!("--- {} as it is\n+++ {} as it is sent", change.at, change.at), out)?;
    for (mark, line) in lines(&text(before), &text(after)) {
        match mark {
            ChangeTag::Delete if out.is_json() => note(&format!("-{line}")),
            ChangeTag::Insert if out.is_json() => note(&format!("+{line}")),
            ChangeTag::Delete => out.styled(&Style::new().red(), &format!("-{line}"))?,
            ChangeTag::Insert => out.styled(&Style::new().green(), &format!("+{line}"))?,
            ChangeTag::Equal => tell(&format!(" {line}"), out)?,
        }
    }
    tell("", out)
}

/// Standard output is for JSON lines where these were asked for.
fn tell(text: &str, out: &mut Out) -> Result<(), CliError> {
    if out.is_json() {
        note(text);
        return Ok(());
    }
    out.text(text)
}

/// The whole record as lines.
fn text(record: &Fixed) -> String {
    let mut text = format!("key: {}\n", bytes::short(record.key.as_deref()).escape_debug());
    for header in &record.headers {
        let (name, value) = (bytes::short(Some(&header.name)), bytes::short(header.value.as_deref()));
        text.push_str(&format!("header {}: {}\n", name.escape_debug(), value.escape_debug()));
    }
    let (kind, value) = bytes::readable(record.value.as_deref());
    match kind {
        Kind::Null => text.push_str("value: null\n"),
        _ => text.push_str(&value),
    }
    text
}

/// The lines that change, and three around each; an empty line stands for those between.
fn lines(before: &str, after: &str) -> Vec<(ChangeTag, String)> {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    for (index, hunk) in diff.grouped_ops(3).iter().enumerate() {
        if index > 0 {
            lines.push((ChangeTag::Equal, "…".to_owned()));
        }
        for change in hunk.iter().flat_map(|part| diff.iter_changes(part)) {
            lines.push((change.tag(), change.value().trim_end_matches('\n').to_owned()));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Header;

    fn record(value: &'static str) -> Fixed {
        Fixed { key: Some("k".into()), value: Some(value.into()), headers: vec![Header::new("h", "v")] }
    }

    fn shown(before: &Fixed, after: &Fixed) -> Vec<String> {
        let mark = |tag| match tag {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        lines(&text(before), &text(after)).into_iter().map(|(tag, line)| format!("{}{line}", mark(tag))).collect()
    }

    #[test]
    fn the_lines_of_json_that_change_are_shown() {
        let (before, after) = (record(r#"{"id":1,"items":"x"}"#), record(r#"{"id":1,"items":[]}"#));
        let expected = [" header h: v", " {", "   \"id\": 1,", "-  \"items\": \"x\"", "+  \"items\": []", " }"];
        assert_eq!(shown(&before, &after), expected);
    }

    #[test]
    fn a_header_that_changes_is_shown_in_one_line() {
        let before = record("same");
        let after = Fixed { headers: vec![Header::new("h", "a\nb"), Header::null("n")], ..before.clone() };
        let expected = [" key: k", "-header h: v", "+header h: a\\nb", "+header n: null", " same"];
        assert_eq!(shown(&before, &after), expected);
    }
}
