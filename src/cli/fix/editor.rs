use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

use bytes::Bytes;
use uuid::Uuid;

use crate::cli::exit::CliError;
use crate::cli::output::layout;

/// The user's editor, from VISUAL or EDITOR.
pub(in crate::cli) fn editor_command() -> Result<String, CliError> {
    let set = |variable| std::env::var(variable).ok().filter(|command| !command.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).ok_or_else(|| {
        CliError::usage("no editor is known: set the environment variable VISUAL or EDITOR, such as EDITOR=vi or EDITOR='code --wait'")
    })
}

/// A value in an editor.
pub(in crate::cli) struct Edited {
    value: Option<Bytes>,
    form: Form,
    path: PathBuf,
}

/// How a value stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// JSON in one line, which is spread out for editing and made one line again.
    JsonLine,
    /// JSON in several lines.
    Json,
    Text,
}

impl Edited {
    /// Writes a value to a file that only this user may read.
    pub(in crate::cli) fn new(value: Option<&Bytes>) -> Result<Self, CliError> {
        let bytes: &[u8] = value.map_or(&[], |value| value);
        let text = std::str::from_utf8(bytes).map_err(|_| {
            CliError::failed(
                "the value is no text (UTF-8), so that no editor can be trusted with it: use the library's fixes",
            )
        })?;
        let form = form(text);
        let name = format!("bezoar-{}.{}", Uuid::new_v4(), if form == Form::Text { "txt" } else { "json" });
        let path = std::env::temp_dir().join(name);
        let written = create(&path).and_then(|mut file| file.write_all(open(text, form).as_bytes()));
        written
            .map_err(|error| CliError::failed(format!("the file {path:?} cannot be written ({error}): set TMPDIR")))?;
        Ok(Self { value: value.cloned(), form, path })
    }

    /// Opens the editor and waits until it is closed.
    pub(in crate::cli) fn edit(&self, editor: &str) -> Result<(), CliError> {
        // Through a shell, as others do it: the command may have arguments and quotes.
        #[cfg(unix)]
        let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(&self.path).status();
        #[cfg(not(unix))]
        let status = {
            let mut words = editor.split_whitespace();
            Command::new(words.next().unwrap_or_default()).args(words).arg(&self.path).status()
        };
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(CliError::failed(format!("the editor {editor:?} failed ({status}): nothing was sent"))),
            Err(error) => {
                Err(CliError::failed(format!("the editor {editor:?} cannot be started ({error}): nothing was sent")))
            }
        }
    }

    /// The value as it was edited. JSON that is no JSON any more is an error, and the file stays.
    pub(in crate::cli) fn finish(self) -> Result<Option<Bytes>, CliError> {
        let kept = |why: String| {
            CliError::failed(format!("{why}; nothing was sent, and what you wrote is in {:?}", self.path))
        };
        let edited = fs::read(&self.path).map_err(|error| kept(format!("the file cannot be read ({error})")))?;
        let edited = String::from_utf8(edited).map_err(|_| kept("the file is no text (UTF-8) any more".to_owned()))?;
        if self.form != Form::Text
            && let Err(error) = layout::check(edited.as_bytes())
        {
            return Err(kept(format!("the value was JSON and is none any more ({error})")));
        }
        let _ = fs::remove_file(&self.path);
        Ok(close(self.value.as_ref(), &edited, self.form))
    }

    /// Deletes the file.
    pub(in crate::cli) fn give_up(self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn create(path: &PathBuf) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn form(text: &str) -> Form {
    match layout::check(text.as_bytes()) {
        Err(_) => Form::Text,
        Ok(()) if !text.contains('\n') => Form::JsonLine,
        Ok(()) => Form::Json,
    }
}

/// The file's content for a value.
fn open(text: &str, form: Form) -> String {
    match form {
        Form::JsonLine => layout::spread(text) + "\n",
        Form::Json | Form::Text => text.to_owned(),
    }
}

/// The value for a file's content; the same bytes where nothing was changed.
fn close(value: Option<&Bytes>, edited: &str, form: Form) -> Option<Bytes> {
    let before = value.map_or("", |value| std::str::from_utf8(value).unwrap_or_default());
    let after = match form {
        // White space alone is no change.
        Form::JsonLine if layout::compact(edited) == layout::compact(before) => before.to_owned(),
        Form::JsonLine => layout::compact(edited),
        // Editors end the last line.
        Form::Json | Form::Text if !before.ends_with('\n') => edited.strip_suffix('\n').unwrap_or(edited).to_owned(),
        Form::Json | Form::Text => edited.to_owned(),
    };
    if after == before { value.cloned() } else { Some(Bytes::from(after)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edited(value: &'static str, edit: impl Fn(&str) -> String) -> Bytes {
        let form = form(value);
        close(Some(&Bytes::from(value)), &edit(&open(value, form)), form).unwrap()
    }

    #[test]
    fn a_value_keeps_its_form() {
        let replace = |text: &str| text.replace('1', "2");
        assert_eq!(edited(r#"{"a":1,"b":1.0}"#, replace), r#"{"a":2,"b":2.0}"#);
        assert_eq!(edited("{ \"a\": 1 }", replace), "{\"a\":2}");
        assert_eq!(edited("{ \"a\": 1 }", |text| text.replace(' ', "")), "{ \"a\": 1 }");
        assert_eq!(edited("{\n \"a\": 1 }", |text| replace(text) + "\n"), "{\n \"a\": 2 }");
        assert_eq!(edited("a 1\n", replace), "a 2\n");
        assert_eq!(edited("a 1", |text| replace(text) + "\n"), "a 2");
    }

    proptest! {
        #[test]
        fn what_is_not_touched_keeps_its_bytes(text in any::<Option<String>>(), ends_line in any::<bool>()) {
            let value = text.map(Bytes::from);
            let content = value.as_ref().map_or("", |value| std::str::from_utf8(value).unwrap());
            let form = form(content);
            let mut file = open(content, form);
            if ends_line && !file.ends_with('\n') {
                file.push('\n');
            }
            prop_assert_eq!(close(value.as_ref(), &file, form), value);
        }
    }

    #[test]
    fn only_this_user_may_read_the_file() {
        let edited = Edited::new(Some(&Bytes::from("{}"))).unwrap();
        assert!(edited.path.to_string_lossy().ends_with(".json"));
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(&edited.path).unwrap()) & 0o777, 0o600);
        fs::write(&edited.path, "{").unwrap();
        let path = edited.path.clone();
        let error = edited.finish().unwrap_err().message;
        assert!(error.contains("nothing was sent") && path.exists(), "{error}");
        fs::remove_file(path).unwrap();
    }
}
