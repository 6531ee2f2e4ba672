//! `bezoar dlq replay`: a look first (what would be sent, what a fix changes), a question, then the work and what came of it.

mod args;
mod preview;
mod sending;
mod tally;

use std::sync::Arc;

pub(super) use args::ReplayArgs;
use preview::Preview;

use super::confirm;
use crate::cli::connection::ConnectionArgs;
use crate::cli::exit::{CliError, Exit};
use crate::cli::fix::{self, Edited, JqFix, editor_command};
use crate::cli::interrupt::{ignored, or_interrupted};
use crate::cli::output::{Out, count, note};
use crate::cli::select::Selected;
use crate::replay::{DeadLetters, Fix, Fixed, ReplayOptions, Selection};

pub(super) async fn run(args: &ReplayArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let selected = args.which.check("replay")?;
    if args.edit && !matches!(&selected, Selected::Places(places) if places.len() == 1) {
        return Err(CliError::usage("--edit is for one dead letter: name it by its place, TOPIC/PARTITION/OFFSET"));
    }
    if !args.dry_run {
        confirm::check(args.yes, "replay")?;
    }
    let editor = if args.edit { Some(editor_command()?) } else { None };
    let mut job = Job { letters: None, options: args.options(), is_by_place: matches!(selected, Selected::Places(_)) };
    if let Some(program) = &args.fix {
        fix::compile(program).map_err(|error| CliError::usage(format!("--fix is no jq program: {error}")))?;
        let jq = JqFix::new(program);
        job.options.fix =
            Some(Arc::new(move |_, record| Ok(Fixed { value: Some(jq.apply(record.value.as_ref())?), ..record })));
    }
    let connected = or_interrupted(async {
        let ports = connection.ports().await?;
        let (topics, selection) = args.which.resolve(selected, &*ports.admin).await?;
        job.letters = Some((DeadLetters::new(ports, topics), selection));
        Ok(Exit::Done)
    });
    if connected.await? == Exit::Interrupted {
        return Ok(Exit::Interrupted);
    }
    job.run(args, editor.as_deref(), out).await
}

/// A replay that is about to be done.
struct Job {
    letters: Option<(DeadLetters, Selection)>,
    options: ReplayOptions,
    is_by_place: bool,
}

impl Job {
    async fn run(mut self, args: &ReplayArgs, editor: Option<&str>, out: &mut Out) -> Result<Exit, CliError> {
        let Some((letters, selection)) = self.letters.take() else { return Ok(Exit::Done) };
        let mut expected = None;
        if args.dry_run || editor.is_some() || self.options.fix.is_some() || !args.yes {
            let mut preview = Preview::of(&letters, &selection, &self.options).await?;
            if preview.is_interrupted {
                return Ok(Exit::Interrupted);
            }
            if let Some(editor) = editor {
                match edit(editor, &mut preview, args.send_unchanged).await? {
                    Some(fix) => self.options.fix = Some(fix),
                    None => return Ok(Exit::Done),
                }
            }
            // With nothing to send there is nothing to ask; told to go on, the failures are noted for others to see.
            let is_result = args.dry_run || preview.tally.planned == 0 && !args.yes;
            preview.show(is_result, out)?;
            out.flush()?;
            if is_result {
                return preview.end(args.dry_run, out);
            }
            if !args.yes && !confirm::ask(&preview.question()).await? {
                return Err(CliError::usage("not confirmed: nothing was sent"));
            }
            expected = Some(preview.tally.planned);
        }
        sending::send(&letters, &selection, &self.options, expected, self.is_by_place, out).await
    }
}

/// Lets the user edit the one record; `None` where it was left as it is.
async fn edit(editor: &str, preview: &mut Preview, send_unchanged: bool) -> Result<Option<Fix>, CliError> {
    let Some(change) = preview.changes.first_mut() else {
        // It would not be sent: why stands in the preview.
        return Ok(Some(Arc::new(|_, record| Ok(record))));
    };
    let edited = Edited::new(change.before.value.as_ref())?;
    let command = editor.to_owned();
    // Ctrl-C is for the editor while it has the terminal.
    let editing = tokio::task::spawn_blocking(move || match edited.edit(&command) {
        Ok(()) => Ok(edited),
        Err(error) => {
            edited.give_up();
            Err(error)
        }
    });
    let edited = tokio::select! {
        edited = editing => edited.map_err(CliError::failed)??,
        never = ignored() => match never {},
    };
    let value = edited.finish()?;
    if value == change.before.value && !send_unchanged {
        note("nothing was changed, and nothing was sent (--send-unchanged sends it all the same)");
        return Ok(None);
    }
    let (before, after) = (change.before.clone(), Fixed { value, ..change.before.clone() });
    change.after = after.clone();
    let fix = move |_: &_, record: Fixed| {
        // What was edited must be what is replaced.
        if record == before { Ok(after.clone()) } else { Err("the dead letter changed while it was edited".to_owned()) }
    };
    Ok(Some(Arc::new(fix)))
}

/// `3 dead letters to orders`, as questions and reports say it.
fn to_targets(number: u64, targets: &[String]) -> String {
    let targets = match targets {
        [] => String::new(),
        [only] => format!(" to {only}"),
        [first, second] => format!(" to {first} and {second}"),
        _ => format!(" to {}", count(targets.len() as u64, "topic")),
    };
    count(number, "dead letter") + &targets
}
