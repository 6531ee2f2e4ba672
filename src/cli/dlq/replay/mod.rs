//! `bezoar dlq replay`: a look first (how many would be sent where, what a fix changes), a question, then the work and what came of it.

mod args;
mod bar;
mod preview;
mod sending;
mod tally;
mod words;

use std::sync::Arc;

pub(super) use args::ReplayArgs;
use preview::Preview;

use super::confirm;
use crate::cli::connection::ConnectionArgs;
use crate::cli::exit::{CliError, Exit};
use crate::cli::fix::{Edited, JqFix, editor_command};
use crate::cli::interrupt::{ignored, or_interrupted};
use crate::cli::output::{Out, count, note};
use crate::cli::select::Selected;
use crate::replay::{DeadLetters, Fix, Fixed};

pub(super) async fn run(args: &ReplayArgs, connection: &ConnectionArgs, out: &mut Out) -> Result<Exit, CliError> {
    let selected = args.which.check("replay")?;
    if args.edit && !matches!(&selected, Selected::Places(places) if places.len() == 1) {
        return Err(CliError::usage("--edit is for one dead letter: name it by its place, TOPIC/PARTITION/OFFSET"));
    }
    if !args.dry_run {
        confirm::check(args.yes, "replay")?;
    }
    let editor = if args.edit { Some(editor_command()?) } else { None };
    let mut options = args.options();
    if let Some(program) = &args.fix {
        let jq = JqFix::new(program).map_err(|error| CliError::usage(format!("--fix is no jq program: {error}")))?;
        options.fix =
            Some(Arc::new(move |_, record| Ok(Fixed { value: Some(jq.apply(record.value.as_ref())?), ..record })));
    }
    let names_each = matches!(selected, Selected::Places(_));
    let connecting = async {
        let ports = connection.ports().await?;
        let (topics, selection) = args.which.resolve(selected, &*ports.admin).await?;
        Ok((DeadLetters::new(ports, topics), selection))
    };
    let (letters, selection) = or_interrupted(connecting).await?;
    let mut expected = None;
    // For programs a dry run tells of each dead letter, however many there are.
    let streams = args.dry_run && out.is_json();
    if editor.is_some() || !streams && (args.dry_run || options.fix.is_some() || !args.yes) {
        let mut preview = Preview::of(&letters, &selection, &options).await?;
        if let Some(editor) = editor {
            match edit(&editor, &mut preview, args.send_unchanged).await? {
                Some(fix) => options.fix = Some(fix),
                None => return Ok(Exit::Nothing),
            }
        }
        // With nothing to send there is nothing to ask; told to go on, the failures are noted for others to see.
        let is_result = !streams && (args.dry_run || preview.tally.planned == 0 && !args.yes);
        preview.show(is_result, out)?;
        out.flush()?;
        if is_result {
            return preview.end(args.dry_run, out);
        }
        if !args.yes && !streams && !confirm::ask(&preview.question()).await? {
            return Err(CliError::usage("not confirmed: nothing was sent"));
        }
        expected = Some(preview.tally.planned);
    }
    options.dry_run = args.dry_run;
    sending::send(&letters, &selection, &options, (expected, names_each), out).await
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
