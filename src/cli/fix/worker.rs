//! jq programs run in a process of their own: one that never ends, eats all memory or overflows its stack costs that process
//! and one dead letter, not a replay that is under way.

use std::io;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{frames, jq};
use crate::cli::output::layout;

/// How long a program may take for one dead letter.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// How much memory the process may take, in bytes (looked at on Linux only).
const MEMORY_LIMIT: u64 = 1 << 30;
/// How often the process looks at itself.
const LOOK: Duration = Duration::from_millis(20);

/// The exit codes by which the process says why it ended.
const TOO_LONG: u8 = 71;
const TOO_MUCH: u8 = 72;

/// Runs a program for one JSON text after another. The first byte of an answer says whether it is a result or an error; the first
/// answer is whether the program is one.
pub(in crate::cli) fn serve(program: &str) -> ExitCode {
    // When the current text came, in milliseconds since the start; 0 between texts.
    let began = Arc::new(AtomicU64::new(1));
    let start = Instant::now();
    let now = move || 1 + u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let watched = Arc::clone(&began);
    thread::spawn(move || {
        loop {
            thread::sleep(LOOK);
            let began = watched.load(Ordering::Relaxed);
            if began != 0 && now().saturating_sub(began) > TIME_LIMIT.as_millis() as u64 {
                std::process::exit(TOO_LONG.into());
            }
            if resident().is_some_and(|bytes| bytes > MEMORY_LIMIT) {
                std::process::exit(TOO_MUCH.into());
            }
        }
    });
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    let mut tell = |answer: Result<String, String>| {
        let (kind, text) = match answer {
            Ok(text) => (b'+', text),
            Err(error) => (b'-', error),
        };
        began.store(0, Ordering::Relaxed);
        frames::write(&mut stdout, &[&[kind], text.as_bytes()].concat())
    };
    let program = match jq::compile(program) {
        Ok(program) => program,
        Err(error) => {
            let _ = tell(Err(error));
            return ExitCode::FAILURE;
        }
    };
    let mut told = tell(Ok(String::new()));
    while told.is_ok()
        && let Ok(Some(text)) = frames::read(&mut stdin)
    {
        began.store(now(), Ordering::Relaxed);
        told = tell(program.run(&text));
    }
    ExitCode::SUCCESS
}

/// The memory of this process, in bytes, where it can be told.
fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse::<u64>().ok()?;
    // Pages are 4 KiB or larger: with larger ones the limit is higher.
    Some(pages * 4096)
}

/// A jq program as a fix.
pub(in crate::cli) struct JqFix {
    program: String,
    process: Mutex<Option<Child>>,
}

impl JqFix {
    /// Reads a program, in the process that is to run it: one that is nested without measure overflows a stack. The error says
    /// why it is none.
    pub(in crate::cli) fn new(program: &str) -> Result<Self, String> {
        let mut fix = Self { program: program.to_owned(), process: Mutex::new(None) };
        fix.process = Mutex::new(Some(fix.start()?));
        Ok(fix)
    }

    /// What the program makes of a value. Where it says the same as before, the value keeps its bytes.
    pub(in crate::cli) fn apply(&self, value: Option<&Bytes>) -> Result<Bytes, String> {
        let Some(value) = value else {
            return Err("the value is null, and a jq program needs JSON".to_owned());
        };
        let fixed = self.ask(value)?;
        let is_same = std::str::from_utf8(value).is_ok_and(|text| layout::compact(text) == fixed);
        Ok(if is_same { value.clone() } else { Bytes::from(fixed) })
    }

    fn ask(&self, value: &[u8]) -> Result<String, String> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        if process.is_none() {
            *process = Some(self.start()?);
        }
        let answer = process.as_mut().and_then(|process| exchange(process, value));
        let Some(answer) = answer else {
            // The next one gets a process of its own.
            return Err(process.take().map_or_else(String::new, why_it_ended));
        };
        read(&answer)
    }

    fn start(&self) -> Result<Child, String> {
        let failed = |error: io::Error| format!("the process for jq programs cannot be started ({error})");
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg("jq-worker").arg("--").arg(&self.program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // A program that came from elsewhere must not put this process's secrets into a record.
        command.env_clear();
        // Windows starts nothing without it.
        command.envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)));
        // Ctrl-C is for the replay: the process ends with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut process = command.spawn().map_err(failed)?;
        match process.stdout.as_mut().and_then(|stdout| frames::read(stdout).ok().flatten()) {
            Some(answer) => read(&answer).map(|_| process),
            None => Err(why_it_ended(process)),
        }
    }
}

/// What the process answered.
fn read(answer: &[u8]) -> Result<String, String> {
    match answer.split_first() {
        Some((b'+', result)) => Ok(String::from_utf8_lossy(result).into_owned()),
        Some((_, error)) => Err(String::from_utf8_lossy(error).into_owned()),
        None => Err("the process for jq programs gave an empty answer".to_owned()),
    }
}

impl Drop for JqFix {
    fn drop(&mut self) {
        if let Some(process) = self.process.get_mut().unwrap_or_else(PoisonError::into_inner) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Sends a value and waits for the answer; `None` where the process ended instead.
fn exchange(process: &mut Child, value: &[u8]) -> Option<Vec<u8>> {
    frames::write(process.stdin.as_mut()?, value).ok()?;
    frames::read(process.stdout.as_mut()?).ok()?
}

fn why_it_ended(mut process: Child) -> String {
    // It no longer answers; should it still run, it must not stay.
    drop(process.stdin.take());
    let status = process.wait();
    match status.as_ref().ok().and_then(|status| status.code()) {
        Some(code) if code == i32::from(TOO_LONG) => {
            format!("the program was not done after {}", humantime::format_duration(TIME_LIMIT))
        }
        Some(code) if code == i32::from(TOO_MUCH) => {
            format!("the program took more than {} MiB of memory", MEMORY_LIMIT >> 20)
        }
        _ => match status {
            Ok(status) => {
                format!("the program crashed ({status}): does it call itself without end, or is it nested too deeply?")
            }
            Err(error) => format!("the program crashed ({error})"),
        },
    }
}
