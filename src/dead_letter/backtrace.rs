use std::backtrace::Backtrace;

/// Renders a panic's backtrace without the frames of the panic machinery above and of the framework below, so that its
/// limited space goes to the user's code. Takes a millisecond or two.
pub(crate) fn render(backtrace: &Backtrace) -> String {
    trim(&backtrace.to_string())
}

/// Frames look like `  12: path::to::function`, each followed by an indented `at file:line:column` where known.
fn trim(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_frame = |line: &str| {
        let line = line.trim_start();
        line.split_once(':').is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let machinery = |line: &str| {
        is_frame(line)
            && ["core::panicking::", "std::panicking::", "rust_begin_unwind", "__rustc::rust_begin_unwind"]
                .iter()
                .any(|name| line.contains(name))
    };
    let start = lines.iter().rposition(|line| machinery(line)).map_or(0, |last| {
        let after = lines[last + 1..].iter().position(|line| is_frame(line));
        after.map_or(0, |frames| last + 1 + frames)
    });
    let ours = |line: &&str| is_frame(line) && line.contains("bezoar::isolation::guard::");
    let end = lines[start..].iter().position(ours).map_or(lines.len(), |frames| start + frames);
    let kept = if start < end { &lines[start..end] } else { &lines[..] };
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_users_frames_are_kept() {
        let text = "   0: std::backtrace::Backtrace::create\n   1: bezoar::isolation::guard::record\n             at guard.rs:1\n   \
                    2: __rustc::rust_begin_unwind\n   3: core::panicking::panic_fmt\n             at panicking.rs:80:14\n   \
                    4: orders::reserve\n             at src/main.rs:7:5\n   5: bezoar::isolation::guard::guarded\n   6: tokio::runtime";
        assert_eq!(trim(text), "   4: orders::reserve\n             at src/main.rs:7:5");
    }

    #[test]
    fn a_text_without_known_frames_is_kept_whole() {
        for text in ["", "disabled backtrace", "   0: a\n   1: b", "   3: core::panicking::panic"] {
            assert_eq!(trim(text), text);
        }
    }
}
