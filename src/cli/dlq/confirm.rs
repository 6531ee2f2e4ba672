use std::io::{self, IsTerminal, Write};

use crate::cli::exit::CliError;
use crate::cli::interrupt::or_interrupted;
use crate::cli::output::escape;

/// Whether something is done without a question, or a person can be asked. Without either it is a mistake, found before anything
/// is done. `does` is what would be done, such as "replay".
pub(super) fn check(yes: bool, does: &str) -> Result<(), CliError> {
    if yes || io::stdin().is_terminal() {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "nobody can be asked whether to {does}, since standard input is no terminal: add --yes to do it without a question"
    )))
}

/// Asks on the terminal; only "y" and "yes" are a yes.
pub(super) async fn ask(question: &str) -> Result<bool, CliError> {
    let mut stderr = io::stderr();
    let asked = write!(stderr, "{} [y/N] ", escape::line(question)).and_then(|()| stderr.flush());
    asked.map_err(|error| CliError::failed(format!("nobody can be asked ({error}): add --yes")))?;
    // A thread of its own: Ctrl-C must not wait for it.
    let answer = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).map(|_| answer)
    });
    let answer = or_interrupted(async { answer.await.map_err(CliError::failed) }).await.inspect_err(|_| {
        // The question's line has no end yet.
        let _ = writeln!(io::stderr());
    })?;
    let answer = answer.map_err(|error| CliError::failed(format!("the answer cannot be read ({error})")))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
