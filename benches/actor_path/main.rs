//! What the framework costs per record: the actors (guard, decoder, handler, settling, watermark, commits) against a
//! bare loop that calls the same decoder and the same work on the same feed, filled under the same credit, with one
//! thread per core on both sides. No broker; both run alternately in one process.
//!
//! `cargo bench --bench actor_path`, or `cargo bench --bench actor_path -- yields` for the rows of that name

#[path = "../support/mod.rs"]
mod support;

mod run;
mod work;

use bezoar::record::TopicPartition;
use bezoar::{Decoder, Json, Raw};
use run::{Cost, Input, Run};
use support::records::{TOPIC, orders};
use support::table;
use tokio::runtime::{Builder, Runtime};
use work::{AddUp, CountBytes, Sleep, Work, YieldOnce};

/// The rows of the table, so far.
struct Comparison {
    control: Runtime,
    rows: Vec<Vec<String>>,
}

/// How often each side runs.
const ROUNDS: usize = 5;

impl Comparison {
    /// Compares `records` records in all; fewer where nothing is measured.
    fn add<D, W>(&mut self, name: &str, (partitions, records): (i32, i64), decoder: D, work: W)
    where
        D: Decoder<W::Message> + Sync,
        W: Work,
    {
        if !support::is_wanted(name) {
            return;
        }
        let (records, rounds) = if support::measuring() { (records, ROUNDS) } else { (records.min(2_000), 1) };
        let per_partition = records / i64::from(partitions);
        let partition = |number| TopicPartition::new(TOPIC, number);
        let input = |number| -> Input { (partition(number), orders(&partition(number), per_partition)) };
        let inputs: Vec<Input> = (0..partitions).map(input).collect();
        let run = Run { control: &self.control, inputs: &inputs, per_partition };
        let (mut bare, mut actors) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            bare.push(run.bare(decoder.clone(), work.clone()));
            actors.push(run.actors(decoder.clone(), work.clone()));
        }
        let mut row = vec![name.to_owned(), partitions.to_string()];
        row.extend(cells(&bare, &actors, |cost| cost.cpu));
        row.extend(cells(&bare, &actors, |cost| Some(cost.wall)));
        self.rows.push(row);
    }
}

/// Medians of both sides, their difference and their ratio.
fn cells(bare: &[Cost], actors: &[Cost], figure: fn(&Cost) -> Option<f64>) -> [String; 4] {
    let median = |costs: &[Cost]| -> Option<f64> {
        let known: Vec<f64> = costs.iter().filter_map(figure).collect();
        (!known.is_empty()).then(|| table::median(known))
    };
    match (median(bare), median(actors)) {
        (Some(bare), Some(actors)) => [
            format!("{bare:.0}"),
            format!("{actors:.0}"),
            format!("{:+.0}", actors - bare),
            format!("{:.2}", actors / bare),
        ],
        _ => ["–", "–", "–", "–"].map(str::to_owned),
    }
}

fn main() {
    let control = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut comparison = Comparison { control, rows: Vec::new() };
    for partitions in [1, 8] {
        let size = (partitions, 1_000_000);
        comparison.add("counts bytes (Raw)", size, Raw, CountBytes::default());
        comparison.add("adds up (Json)", size, Json, AddUp::default());
        comparison.add("yields once (Raw)", size, Raw, YieldOnce::default());
    }
    comparison.add("sleeps 1 ms (Raw)", (100, 30_000), Raw, Sleep::default());
    println!("ns per record over all partitions; medians of {ROUNDS} rounds\n");
    let header =
        ["handler", "partitions", "CPU bare", "actors", "more", "ratio", "wall bare", "actors", "more", "ratio"];
    table::print(&header, &comparison.rows);
}
