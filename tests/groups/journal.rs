//! What instances and the test note of a trial: one file for all, a line for each thing that happens, written before what
//! follows from it. Lines are appended by one call each, so the file's order is the order in which things happened, whichever
//! process noted them, and a process that is killed leaves whole lines or none.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Microseconds since the Unix epoch; for people.
    pub(crate) at: u64,
    /// Which process: `slot.life`, or `test`.
    pub(crate) who: String,
    pub(crate) what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// An ownership has its first handler. Ownerships are numbered within their process.
    Owns {
        partition: i32,
        ownership: u64,
    },
    /// A handler is called. `late`: by what the membership port has seen, the lease was over.
    Starts {
        partition: i32,
        offset: i64,
        attempt: u32,
        ownership: u64,
        late: bool,
    },
    /// A handler is about to return `Ok`.
    Handled {
        partition: i32,
        offset: i64,
    },
    /// A dead letter is handed to the producing port.
    SendsLetter {
        partition: i32,
        offset: i64,
        late: bool,
    },
    /// A dead letter was acknowledged.
    Letter {
        partition: i32,
        offset: i64,
    },
    /// A commit was acknowledged.
    Committed {
        partition: i32,
        offset: i64,
    },
    /// The consumer's events said that a partition was lost.
    Lost {
        partition: i32,
    },
    /// The consumer stopped by itself.
    Halted(String),
    /// The instance ended cleanly.
    Left,
    /// From the test: a process was killed, stopped, or goes on.
    Killed(String),
    Stopped(String),
    Continued(String),
    /// For people.
    Note(String),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owns { partition, ownership } => write!(f, "owns {partition} {ownership}"),
            Self::Starts { partition, offset, attempt, ownership, late } => {
                write!(f, "starts {partition} {offset} {attempt} {ownership} {late}")
            }
            Self::Handled { partition, offset } => write!(f, "handled {partition} {offset}"),
            Self::SendsLetter { partition, offset, late } => write!(f, "sends-letter {partition} {offset} {late}"),
            Self::Letter { partition, offset } => write!(f, "letter {partition} {offset}"),
            Self::Committed { partition, offset } => write!(f, "committed {partition} {offset}"),
            Self::Lost { partition } => write!(f, "lost {partition}"),
            Self::Halted(reason) => write!(f, "halted {}", one_line(reason)),
            Self::Left => write!(f, "left"),
            Self::Killed(who) => write!(f, "killed {who}"),
            Self::Stopped(who) => write!(f, "stopped {who}"),
            Self::Continued(who) => write!(f, "continued {who}"),
            Self::Note(text) => write!(f, "note {}", one_line(text)),
        }
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.at, self.who, self.what)
    }
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut parts = line.splitn(4, ' ');
        let mut part = || parts.next().unwrap_or_default();
        let (at, who, kind, rest) = (part(), part(), part(), part());
        let what = What::parse(kind, rest).ok_or_else(|| format!("{line:?} is no line of a journal"))?;
        Ok(Self { at: at.parse().map_err(|_| format!("{line:?} has no time"))?, who: who.to_owned(), what })
    }
}

impl What {
    fn parse(kind: &str, rest: &str) -> Option<Self> {
        let mut words = Words(rest);
        Some(match kind {
            "owns" => Self::Owns { partition: words.next()?, ownership: words.next()? },
            "starts" => Self::Starts {
                partition: words.next()?,
                offset: words.next()?,
                attempt: words.next()?,
                ownership: words.next()?,
                late: words.next()?,
            },
            "handled" => Self::Handled { partition: words.next()?, offset: words.next()? },
            "sends-letter" => {
                Self::SendsLetter { partition: words.next()?, offset: words.next()?, late: words.next()? }
            }
            "letter" => Self::Letter { partition: words.next()?, offset: words.next()? },
            "committed" => Self::Committed { partition: words.next()?, offset: words.next()? },
            "lost" => Self::Lost { partition: words.next()? },
            "halted" => Self::Halted(rest.to_owned()),
            "left" => Self::Left,
            "killed" => Self::Killed(rest.to_owned()),
            "stopped" => Self::Stopped(rest.to_owned()),
            "continued" => Self::Continued(rest.to_owned()),
            "note" => Self::Note(rest.to_owned()),
            _ => return None,
        })
    }

    /// The partition that it is about.
    pub(crate) fn partition(&self) -> Option<i32> {
        match *self {
            Self::Owns { partition, .. }
            | Self::Starts { partition, .. }
            | Self::Handled { partition, .. }
            | Self::SendsLetter { partition, .. }
            | Self::Letter { partition, .. }
            | Self::Committed { partition, .. }
            | Self::Lost { partition } => Some(partition),
            _ => None,
        }
    }
}

struct Words<'a>(&'a str);

impl Words<'_> {
    fn next<T: FromStr>(&mut self) -> Option<T> {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        word.parse().ok()
    }
}

/// The writing side; cheap to clone.
#[derive(Clone)]
pub(crate) struct Journal {
    file: Arc<File>,
    who: Arc<str>,
}

impl Journal {
    /// Opens the journal, which is made if it is not there.
    pub(crate) fn open(path: &Path, who: &str) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        Self { file: Arc::new(file), who: who.into() }
    }

    /// Appends a line.
    pub(crate) fn note(&self, what: What) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
        let line = format!("{}\n", Entry { at, who: self.who.to_string(), what });
        (&*self.file).write_all(line.as_bytes()).unwrap();
    }

    /// Appends a line for people.
    pub(crate) fn tell(&self, text: impl Into<String>) {
        self.note(What::Note(text.into()));
    }
}

/// All lines so far.
pub(crate) fn read(path: &Path) -> Vec<Entry> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::open(&path, "3.1");
        let lines = [
            What::Owns { partition: 1, ownership: 2 },
            What::Starts { partition: 1, offset: 20, attempt: 3, ownership: 2, late: true },
            What::Handled { partition: 1, offset: 20 },
            What::SendsLetter { partition: 1, offset: 21, late: false },
            What::Letter { partition: 1, offset: 21 },
            What::Committed { partition: 1, offset: 22 },
            What::Lost { partition: 1 },
            What::Halted("because of this".to_owned()),
            What::Left,
            What::Killed("3.1".to_owned()),
            What::Stopped("3.1".to_owned()),
            What::Continued("3.1".to_owned()),
            What::Note("two words".to_owned()),
        ];
        for line in &lines {
            journal.note(line.clone());
        }
        journal.tell("two\nlines");
        let read = read(&path);
        assert!(read.iter().all(|entry| entry.who == "3.1" && entry.at > 0));
        let mut expected = lines.to_vec();
        expected.push(What::Note("two lines".to_owned()));
        assert_eq!(read.into_iter().map(|entry| entry.what).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_line_that_is_none_is_an_error() {
        for line in ["", "12 1.1 starts 1 2", "x 1.1 left", "12 1.1 danced"] {
            assert!(line.parse::<Entry>().is_err(), "{line:?}");
        }
    }
}
