use std::backtrace::Backtrace;

/// Renders a panic's backtrace without the frames of the panic machinery above and of the framework below, so that its
/// limited space goes to the user's code. Takes a millisecond or two.
pub(crate) fn render(backtrace: &Backtrace) -> String {
    trim(&backtrace.to_string(), &["rust_begin_unwind", "core::panicking::", "std::panicking::begin_panic"])
}

/// The same for a backtrace captured where a failure was made, below the frames that make it.
pub(crate) fn render_failure(backtrace: &Backtrace) -> String {
    trim(&backtrace.to_string(), &["std::backtrace::", "bezoar::handler::failure::", "bezoar::handler::into_failure::"])
}

/// Where the framework calls user code: what lies below is ours.
const OURS: [&str; 2] = ["bezoar::isolation::guard::", "bezoar::partition::deliver::"];

/// Keeps the frames after the last that names one of `above`, up to the first that names one of [`OURS`]. Frames look like
/// `  12: path::to::function`, each followed by an indented `at file:line:column` where known.
fn trim(text: &str, above: &[&str]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let names = |line: &str, names: &[&str]| is_frame(line) && names.iter().any(|name| line.contains(name));
    let start = lines.iter().rposition(|line| names(line, above)).map_or(0, |last| {
        let after = lines[last + 1..].iter().position(|line| is_frame(line));
        after.map_or(0, |frames| last + 1 + frames)
    });
    let end = lines[start..].iter().position(|line| names(line, &OURS)).map_or(lines.len(), |frames| start + frames);
    let kept = if start < end { &lines[start..end] } else { &lines[..] };
    kept.join("\n")
}

fn is_frame(line: &str) -> bool {
    let number = line.trim_start().split_once(':').map_or("", |(number, _)| number);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PANIC: [&str; 2] = ["rust_begin_unwind", "core::panicking::"];

    #[test]
    fn only_the_users_frames_are_kept() {
        let text = "   0: std::backtrace::Backtrace::create\n   1: bezoar::isolation::guard::record\n             at guard.rs:1\n   \
                    2: __rustc::rust_begin_unwind\n   3: core::panicking::panic_fmt\n             at panicking.rs:80:14\n   \
                    4: orders::reserve\n             at src/main.rs:7:5\n   5: bezoar::isolation::guard::guarded\n   6: std::panicking::catch_unwind\n   7: tokio::runtime";
        assert_eq!(trim(text, &PANIC), "   4: orders::reserve\n             at src/main.rs:7:5");
    }

    #[test]
    fn a_text_without_known_frames_is_kept_whole() {
        for text in ["", "disabled backtrace", "   0: a\n   1: b", "   3: core::panicking::panic"] {
            assert_eq!(trim(text, &PANIC), text);
        }
    }
}
