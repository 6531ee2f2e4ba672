//! The command `bezoar`; see `bezoar --help`.

fn main() -> std::process::ExitCode {
    bezoar::cli::main()
}
