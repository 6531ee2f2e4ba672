use std::collections::HashMap;

use crate::Result;

/// How many partitions every topic has.
pub const PARTITIONS: i32 = 4;

/// What a peer is asked to do, from the command line: `PEER FORM JOB key=value...`.
#[derive(Debug, Clone)]
pub struct Job {
    /// Which of the peer's forms is to run; each peer names its own.
    pub form: String,
    /// The job: `consume`, `typed`, `storm`, `mixed`, `produce` or `produce-dead`.
    pub name: String,
    /// Address of the broker.
    pub bootstrap: String,
    /// The topic to read, or to write to when producing.
    pub topic: String,
    /// How many records the topic holds, or how many are to be produced; a multiple of [`PARTITIONS`].
    pub records: u64,
    /// The group whose offsets are committed.
    pub group: String,
    /// The dead-letter topic.
    pub dead: String,
}

impl Job {
    /// Reads the command line.
    pub fn from_args() -> Result<Self> {
        let mut words = std::env::args().skip(1);
        let (Some(form), Some(name)) = (words.next(), words.next()) else {
            return Err("usage: PEER FORM JOB key=value...; see benches/peers/run".into());
        };
        let pairs = words.map(|word| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("argument {word:?} is not key=value")),
        });
        let mut pairs = pairs.collect::<Result<HashMap<_, _>, _>>()?;
        let mut take = |key: &str| pairs.remove(key).ok_or_else(|| format!("argument {key}=... is missing"));
        Ok(Self {
            form,
            name,
            bootstrap: take("bootstrap")?,
            topic: take("topic")?,
            records: take("records")?.parse()?,
            group: take("group")?,
            dead: take("dead")?,
        })
    }

    /// How many records each partition holds.
    pub fn per_partition(&self) -> u64 {
        self.records / PARTITIONS as u64
    }

    /// The error for a form and job that a peer doesn't have.
    pub fn unknown(&self) -> Box<dyn std::error::Error + Send + Sync> {
        format!("this peer has no job {:?} in form {:?}", self.name, self.form).into()
    }
}
