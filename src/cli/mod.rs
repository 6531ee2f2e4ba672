//! The command `bezoar`.

/// Runs the command with the process's arguments.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
