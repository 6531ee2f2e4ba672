//! What commands say: tables for people or JSON lines for programs on standard output, notes on standard error.

pub(super) mod bytes;
pub(super) mod entry;
pub(super) mod escape;
pub(super) mod layout;
mod table;
pub(super) mod time;

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use clap::ValueEnum;
use console::{Style, Term};
use serde::Serialize;
pub(super) use table::{Column, Table};

use super::exit::CliError;

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
    /// Tables and text, for people.
    #[default]
    Table,
    /// One JSON object per line, for programs.
    Json,
}

/// Standard output. Nothing that a record holds gets through it to a terminal as a control character.
pub(super) struct Out {
    format: Format,
    stdout: BufWriter<Stdout>,
    is_terminal: bool,
}

impl Out {
    pub(super) fn new(format: Format) -> Self {
        Self { format, stdout: BufWriter::new(io::stdout()), is_terminal: io::stdout().is_terminal() }
    }

    pub(super) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Writes text of one or more lines, and a line break.
    pub(super) fn text(&mut self, text: &str) -> Result<(), CliError> {
        writeln!(self.stdout, "{}", escape::lines(text)).map_err(|error| CliError::output(&error))
    }

    /// Writes what this program made, as it is.
    pub(super) fn raw(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.stdout.write_all(bytes).map_err(|error| CliError::output(&error))
    }

    /// Writes a line in a colour, where standard output is a terminal that shows colours.
    pub(super) fn styled(&mut self, style: &Style, text: &str) -> Result<(), CliError> {
        writeln!(self.stdout, "{}", style.apply_to(escape::line(text))).map_err(|error| CliError::output(&error))
    }

    /// Writes one JSON line.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string(value).map_err(CliError::failed)?;
        writeln!(self.stdout, "{}", escape::json(&text)).map_err(|error| CliError::output(&error))
    }

    /// Writes a table; nothing for one without rows.
    pub(super) fn table(&mut self, table: Table) -> Result<(), CliError> {
        if table.is_empty() {
            return Ok(());
        }
        let width = self.is_terminal.then(|| Term::stdout().size().1);
        self.text(&table.render(width))
    }

    /// Hands over what was written so far.
    pub(super) fn flush(&mut self) -> Result<(), CliError> {
        self.stdout.flush().map_err(|error| CliError::output(&error))
    }
}

/// Says something on standard error. Where that is closed nobody listens, and the work goes on.
pub(super) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", escape::lines(text));
}

/// `1 dead letter`, `1,234 dead letters`.
pub(super) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", thousands(number))
}

/// A number with separators: `1,234,567`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        let shown = [0, 999, 1_000, 1_234_567].map(thousands);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((count(1, "record"), count(2, "record")), ("1 record".into(), "2 records".into()));
    }
}
